//! The records of [`features`](crate::features) as Rust declares them, wherever it cannot declare them as C does: the length
//! of an array is a `usize` behind its pointer, and each array has its own; a boolean has one byte.
//!
//! Names and values are the same as far as they can be, so that whoever reads the one can also be asked for the other.

use crate::features::*;

/// The layouts of the machines for which Rust's library is built, so that they can confirm these vectors: neither "mips" nor "sparc".
pub(crate) const LAYOUTS: [&str; 10] = {
    let [layouts @ .., _, _] = crate::features::LAYOUTS;
    layouts
};

pub(crate) const DECLARED: &[Feature] = &[
    Feature {
        name: "rust-scalars",
        parts: &[(SCALARS, &[ORDINARY_SCALARS, LARGE_SCALARS, SMALL_SCALARS, SPECIAL_SCALARS])],
    },
    Feature { name: "rust-strings", parts: &[(STRINGS, &[SOME_STRINGS, NO_STRINGS])] },
    Feature { name: "rust-arrays", parts: &[(ARRAYS, &[SOME_ARRAYS, EMPTY_ARRAYS, LENGTHS_ONLY])] },
    Feature { name: "rust-nested", parts: &[(NESTED, &[FLEET, NO_FLEET])] },
    Feature { name: "rust-enumerations", parts: &[(ENUMERATIONS, &[FIRST_SYMBOLS, LAST_SYMBOLS])] },
    Feature { name: "rust-wide", parts: &[(WIDE, &[WIDE_NUMBERS, EXTREME_NUMBERS])] },
    Feature { name: "rust-long-double", parts: &[(LONG_DOUBLE, &[LONG_DOUBLES, EXTREME_LONG_DOUBLES])] },
    Feature { name: "rust-pointers", parts: &[(POINTERS, &[ALL_POINTERS, SOME_POINTERS, NULL_POINTERS])] },
    Feature {
        name: "rust-evolve",
        parts: &[(SAMPLE_1, &[FIRST_SAMPLE]), (SAMPLE_2, &[SECOND_SAMPLE]), (SAMPLE_3, &[THIRD_SAMPLE])],
    },
];

const SCALARS: &str = r#"
record Scalars
  tiny    signed char
  byte    unsigned char
  small   short
  usmall  unsigned short
  plain   int
  uplain  unsigned int
  far     long
  ufar    unsigned long
  large   long long
  ularge  unsigned long long
  size    size_t
  single  float
  real    double             unit="m/s"
  letter  char
  yes     bool
  yes4    bool
  last    signed char
"#;

const STRINGS: &str = r#"
record Strings
  name   string
  empty  string
  none   string
  bytes  string
  pair   string[2]
  list   string[n]
  n      size_t
  code   char[8]
  full   char[4]
  text   char[m]
  m      size_t
"#;

const ARRAYS: &str = r#"
record Arrays
  fixed      double[3]
  matrix     float[2][3]
  line       float[line_len]
  line_len   size_t
  grid       double[nx][ny]
  nx         size_t
  ny         size_t
  slab       short[slab_dim0][slab_dim1][slab_dim2]
  slab_dim0  size_t
  slab_dim1  size_t
  slab_dim2  size_t
  flags      bool[flags_len]
  flags_len  size_t
  one        int[1]
  spare      long long
  columns    unsigned char[columns_dim0][columns_dim1]
  columns_dim0  size_t
  columns_dim1  size_t
  ids        unsigned long[ids_len]
  ids_len    size_t
  pairs      float[pairs_len][2]
  pairs_len  size_t
"#;
const SOME_ARRAYS: &str = r#"{
  "fixed": [1.5, -2.25, 1e100], "matrix": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]], "line": [0.1, 0.2, 0.3], "line_len": 3,
  "grid": [[1.0, 2.0], [3.0, 4.0], [5.0, -0.0]], "nx": 3, "ny": 2,
  "slab": [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, -12]]], "slab_dim0": 3, "slab_dim1": 2, "slab_dim2": 2,
  "flags": [true, false, true], "flags_len": 3, "one": [7], "spare": -1,
  "columns": [[1, 2], [3, 4], [5, 255]], "columns_dim0": 3, "columns_dim1": 2,
  "ids": [1, 2, 4000000000], "ids_len": 3, "pairs": [[1.0, 2.0], [3.0, 4.0], [5.0, -0.0]], "pairs_len": 3
}"#;
const EMPTY_ARRAYS: &str = r#"{
  "fixed": [0.0, 0.0, 0.0], "matrix": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "line": [], "line_len": 0, "grid": [], "nx": 0,
  "ny": 0, "slab": [], "slab_dim0": 0, "slab_dim1": 0, "slab_dim2": 0, "flags": [], "flags_len": 0, "one": [0],
  "spare": 0, "columns": [], "columns_dim0": 0, "columns_dim1": 0, "ids": [], "ids_len": 0, "pairs": [], "pairs_len": 0
}"#;
const LENGTHS_ONLY: &str = r#"{
  "fixed": [1.0, 2.0, 3.0], "matrix": [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]], "line": [], "line_len": 0, "grid": [],
  "nx": 0, "ny": 2, "slab": [], "slab_dim0": 0, "slab_dim1": 0, "slab_dim2": 2, "flags": [], "flags_len": 0, "one": [1],
  "spare": 1, "columns": [[1, 2], [3, 4], [5, 6]], "columns_dim0": 3, "columns_dim1": 2, "ids": [], "ids_len": 0,
  "pairs": [], "pairs_len": 0
}"#;

const NESTED: &str = r#"
record Point
  x    double  unit="m"
  y    double  unit="m"
  tag  char
record Track
  name       string
  points     Point[n]
  n          size_t
  home       Point
  pair       Point[2]
  notes      string[notes_len]
  notes_len  size_t
record Fleet
  title   string
  lead    Track
  tracks  Track[count]
  count   size_t
  end     short
"#;
const FLEET: &str = r#"{
  "title": "two ships", "count": 2,
  "lead": {
    "name": "Vega", "n": 1, "points": [{"x": 1.0, "y": 2.0, "tag": "a"}], "home": {"x": -1.0, "y": -2.0, "tag": "b"},
    "pair": [{"x": 0.5, "y": 0.25, "tag": "c"}, {"x": 0.125, "y": 0.0, "tag": "d"}], "notes": ["first"], "notes_len": 1
  },
  "tracks": [
    {
      "name": "Altair", "n": 2,
      "points": [{"x": 10.0, "y": 20.0, "tag": "e"}, {"x": 30.0, "y": 40.0, "tag": "f"}],
      "home": {"x": 5.0, "y": 6.0, "tag": "g"},
      "pair": [{"x": 7.0, "y": 8.0, "tag": "h"}, {"x": 9.0, "y": 10.0, "tag": "i"}],
      "notes": [null, "second of Altair"], "notes_len": 2
    },
    {
      "name": null, "n": 0, "points": [], "home": {"x": 0.0, "y": 0.0, "tag": "j"},
      "pair": [{"x": 0.0, "y": 0.0, "tag": "k"}, {"x": 0.0, "y": 0.0, "tag": "l"}], "notes": [], "notes_len": 0
    }
  ],
  "end": -7
}"#;
const NO_FLEET: &str = r#"{
  "title": null, "count": 0,
  "lead": {
    "name": null, "n": 0, "points": [], "home": {"x": 0.0, "y": 0.0, "tag": "-"},
    "pair": [{"x": 0.0, "y": 0.0, "tag": "-"}, {"x": 0.0, "y": 0.0, "tag": "-"}], "notes": [], "notes_len": 0
  },
  "tracks": [], "end": 0
}"#;

const ENUMERATIONS: &str = r#"
record Enumerations
  color  enumeration{red=0,green=1,blue=2}
  sign   enumeration(1){minus=-1,zero=0,plus=1}
  mask   unsigned enumeration(2){none=0,all=65535}
  wide   enumeration(8){lowest=-9223372036854775808,highest=9223372036854775807}
  uwide  unsigned enumeration(8){low=3,high=18446744073709551615}
  path   enumeration{north=10,east=20,south=30,west=40}[n]
  n      size_t
  pair   enumeration(1){off=0,on=1}[2]
"#;

/// The odd `long double`s are `f64` here. Those of their own types are in `rust-long-double`.
const WIDE: &str = r#"
record Wide
  flag       char
  big        i128
  ubig       u128
  half       f16
  brain      bf16
  quad       f128
  ext        double
  ext12      double
  ext10      double
  twin       double
  long       double
  z          complex float
  w          complex double
  q          complex f128
  name       string
  bigs       i128[bigs_len]
  bigs_len   size_t
  halfs      f16[halfs_len]
  halfs_len  size_t
  quads      f128[quads_len]
  quads_len  size_t
  zs         complex float[zs_len]
  zs_len     size_t
  ws         complex double[n]
  n          size_t
"#;
const WIDE_NUMBERS: &str = r#"{
  "flag": "w", "big": "-170141183460469231731687303715884105728", "ubig": "340282366920938463463374607431768211455",
  "half": 0.1, "brain": 0.1, "quad": 0.1, "ext": 0.1, "ext12": -0.1, "ext10": 1.5, "twin": 0.5, "long": -2.75,
  "z": [1.5, -0.1], "w": [0.1, 1e300], "q": [0.1, -2.5], "n": 2, "name": "odd", "bigs": ["1", "-2"], "bigs_len": 2,
  "halfs": [65500.0, 6e-8], "halfs_len": 2, "quads": [1e4000, -1.0], "quads_len": 2, "zs": [[1.0, 2.0], [3.0, 4.0]],
  "zs_len": 2, "ws": [[5.0, 6.0], [7.0, 8.0]]
}"#;
const EXTREME_NUMBERS: &str = r#"{
  "flag": "e", "big": "170141183460469231731687303715884105727", "ubig": "0", "half": "Infinity", "brain": "-Infinity",
  "quad": "NaN", "ext": "Infinity", "ext12": "-Infinity", "ext10": "NaN", "twin": -0.0, "long": 0.0,
  "z": ["NaN", "Infinity"], "w": [-0.0, 0.0], "q": [0.0, -0.0], "n": 0, "name": null, "bigs": [], "bigs_len": 0,
  "halfs": [], "halfs_len": 0, "quads": [], "quads_len": 0, "zs": [], "zs_len": 0, "ws": []
}"#;

const LONG_DOUBLE: &str = r#"
record LongDouble
  flag      char
  ext       x87                    unit="m"
  twin      double-double
  quad      f128
  exts      x87[2]
  z         complex x87
  w         complex double-double
  end       char
  list      x87[list_len]
  list_len  size_t
  twins     double-double[n]
  n         size_t
"#;
const LONG_DOUBLES: &str = r#"{
  "flag": "l", "ext": 0.1, "twin": 0.5, "quad": -2.75, "exts": [-0.1, 1e4000], "z": [1.5, -0.25], "w": [-0.0, 1e300], "end": "e",
  "list": [1.0, 18446744073709551615.0, -1.0], "list_len": 3, "twins": [1e-300, 9007199254740992.0], "n": 2
}"#;
const EXTREME_LONG_DOUBLES: &str = r#"{
  "flag": "x", "ext": "Infinity", "twin": "-Infinity", "quad": "NaN", "exts": [-0.0, "NaN"], "z": ["-Infinity", 0.0],
  "w": ["Infinity", -1.0], "end": "e", "list": [], "list_len": 0, "twins": [], "n": 0
}"#;

const POINTERS: &str = r#"
record Leaf
  k     short
  name  string
record Pair
  left   Leaf*
  right  Leaf*
record Pointers
  leaf    Leaf*
  number  double*
  three   float[3]*
  text    string*
  texts   string[2]*
  pair    Pair*
  pairs   Pair[2]
  big     i128*
  list    Pair[n]
  n       size_t
  tail    int*
"#;

const SAMPLE_3: &str = r#"
record Position
  lat  double
  lon  double
record Sample
  where  Position
  step   unsigned short
  flow   double[n]
  n      size_t
"#;
