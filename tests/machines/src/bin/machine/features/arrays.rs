//! Arrays, fixed and dynamic, of several dimensions.

use super::{Records, all, kept, list, owning};
use crate::literal::Literal;
use isoform::{Array, Record, Slice};
use std::ffi::c_ulong;

#[derive(Record)]
#[repr(C)]
struct Arrays<'a> {
    fixed: [f64; 3],
    matrix: [[f32; 3]; 2],
    line: Slice<'a, f32>,
    #[isoform(len("nx", "ny"))]
    grid: Array<'a, f64, 2>,
    slab: Array<'a, i16, 3>,
    flags: Slice<'a, bool>,
    one: [i32; 1],
    spare: i64,
    columns: Array<'a, u8, 2>,
    ids: Slice<'a, c_ulong>,
    #[isoform(alias = "grid")]
    pairs: Slice<'a, [f32; 2]>,
}

/// An array of these dimensions.
fn grid<T, const M: usize, const N: usize>(elements: [T; M], dims: [usize; N]) -> Array<'static, T, N> {
    Array::new(kept(elements), dims).expect("as many elements as the dimensions say")
}

pub(super) fn records() -> Vec<Box<dyn Literal>> {
    all([
        Arrays {
            fixed: [1.5, -2.25, 1e100],
            matrix: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]],
            line: list([0.1, 0.2, 0.3]),
            grid: grid([1.0, 2.0, 3.0, 4.0, 5.0, -0.0], [3, 2]),
            slab: grid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12], [3, 2, 2]),
            flags: list([true, false, true]),
            one: [7],
            spare: -1,
            columns: grid([1, 2, 3, 4, 5, 255], [3, 2]),
            ids: list([1, 2, 4_000_000_000]),
            pairs: list([[1.0, 2.0], [3.0, 4.0], [5.0, -0.0]]),
        },
        Arrays {
            fixed: [0.0; 3],
            matrix: [[0.0; 3]; 2],
            line: list([]),
            grid: grid([], [0, 0]),
            slab: grid([], [0, 0, 0]),
            flags: list([]),
            one: [0],
            spare: 0,
            columns: grid([], [0, 0]),
            ids: list([]),
            pairs: list([]),
        },
        Arrays {
            fixed: [1.0, 2.0, 3.0],
            matrix: [[0.5; 3]; 2],
            line: list([]),
            grid: grid([], [0, 2]),
            slab: grid([], [0, 0, 2]),
            flags: list([]),
            one: [1],
            spare: 1,
            columns: grid([1, 2, 3, 4, 5, 6], [3, 2]),
            ids: list([]),
            pairs: list([]),
        },
    ])
}

pub(super) const RECEIVERS: &[Records] = &[exchanged, owned];

/// What was fixed is dynamic, what was dynamic is fixed, and elements are of other types.
#[derive(Record)]
#[repr(C)]
struct Exchanged<'a> {
    grid: [[f32; 2]; 4],
    line: [f64; 3],
    flags: [i32; 5],
    #[isoform(alias = "spare")]
    extra: i128,
    fixed: Slice<'a, f64>,
    matrix: Array<'a, f64, 2>,
    columns: Slice<'a, [i32; 2]>,
    one: [i64; 3],
    #[isoform(default = [0.5, 0.5])]
    missing: [f32; 2],
    none: Slice<'a, f64>,
}

fn exchanged() -> Vec<Box<dyn Literal>> {
    let (tenth, fifth, three) = (0.1f32, 0.2f32, 0.3f32);
    all([
        Exchanged {
            grid: [[1.0, 2.0], [3.0, 4.0], [5.0, -0.0], [0.0, 0.0]],
            line: [tenth.into(), fifth.into(), three.into()],
            flags: [1, 0, 1, 0, 0],
            extra: -1,
            fixed: list([1.5, -2.25, 1e100]),
            matrix: grid([1.0, 2.0, 3.0, 4.0, 5.0, 6.5], [2, 3]),
            columns: list([[1, 2], [3, 4], [5, 255]]),
            one: [7, 0, 0],
            missing: [0.5, 0.5],
            none: list([]),
        },
        Exchanged {
            grid: [[0.0; 2]; 4],
            line: [0.0; 3],
            flags: [0; 5],
            extra: 0,
            fixed: list([0.0; 3]),
            matrix: grid([0.0; 6], [2, 3]),
            columns: list([]),
            one: [0; 3],
            missing: [0.5, 0.5],
            none: list([]),
        },
        Exchanged {
            grid: [[0.0; 2]; 4],
            line: [0.0; 3],
            flags: [0; 5],
            extra: 1,
            fixed: list([1.0, 2.0, 3.0]),
            matrix: grid([0.5; 6], [2, 3]),
            columns: list([[1, 2], [3, 4], [5, 6]]),
            one: [1, 0, 0],
            missing: [0.5, 0.5],
            none: list([]),
        },
    ])
}

/// As it is written where records own their parts.
#[derive(Record)]
struct Owned {
    ids: Vec<u64>,
    line: Vec<f64>,
    fixed: Vec<f64>,
    grid: Vec<[f64; 2]>,
    one: Vec<i16>,
}

fn owned() -> Vec<Box<dyn Literal>> {
    let line = [0.1f32, 0.2, 0.3].map(f64::from).to_vec();
    let fixed = vec![1.5, -2.25, 1e100];
    let grid = vec![[1.0, 2.0], [3.0, 4.0], [5.0, -0.0]];
    owning([
        Owned { ids: vec![1, 2, 4_000_000_000], line, fixed, grid, one: vec![7] },
        Owned { ids: vec![], line: vec![], fixed: vec![0.0; 3], grid: vec![], one: vec![0] },
        Owned { ids: vec![], line: vec![], fixed: vec![1.0, 2.0, 3.0], grid: vec![], one: vec![1] },
    ])
}
