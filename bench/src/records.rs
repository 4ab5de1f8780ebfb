//! The workloads as a Rust program has them: structs, whose formats are those of the [workloads](crate::workload).
#![allow(missing_docs, non_snake_case, reason = "they are described where the workloads are")]

use isoform::{Encoder, Message, Record, Result, Slice, Str};

/// A record that can be sent, without saying how long it borrows.
pub trait Sent: Record + 'static {
    /// The message of its native form.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    fn encode<'m>(encoder: &'m mut Encoder<Self>, record: &'m Self::Native<'_>) -> Result<Message<'m>>;
}

/// Calls a function with the type of the record that a workload has.
#[macro_export]
macro_rules! with_record {
    ($workload:expr, $function:ident($($argument:expr),*)) => {
        $crate::with_record!($workload, $function($($argument),*), $crate::records::Series<'static>)
    };
    ($workload:expr, $function:ident($($argument:expr),*), $series:ty) => {
        match $workload.name {
            "K01" => $function::<$crate::records::K01>($($argument),*),
            "K1" => $function::<$crate::records::K1>($($argument),*),
            "K10" => $function::<$crate::records::K10>($($argument),*),
            "K100" => $function::<$crate::records::K100>($($argument),*),
            "M100" => $function::<$crate::records::Mixed>($($argument),*),
            "S10" | "S1k" | "S100k" => $function::<$series>($($argument),*),
            "T" => $function::<$crate::records::Table>($($argument),*),
            "A01" => $function::<$crate::records::A01>($($argument),*),
            "A1" => $function::<$crate::records::A1>($($argument),*),
            "A10" => $function::<$crate::records::A10>($($argument),*),
            "A100" => $function::<$crate::records::A100>($($argument),*),
            other => Err(format!("there is no struct for {other}").into()),
        }
    };
}

macro_rules! sent {
    ($($record:ident $(<$lifetime:lifetime>)?,)*) => {$(
        impl Sent for $record $(<$lifetime>)? {
            #[inline]
            fn encode<'m>(encoder: &'m mut Encoder<Self>, record: &'m Self::Native<'_>) -> Result<Message<'m>> {
                encoder.encode(record)
            }
        }
    )*};
}

sent!(K01, K1, K10, K100, Mixed, Series<'static>, Table, A01, A1, A10, A100,);

/// A struct without pointers, which the [peers](crate::peers) take as well.
macro_rules! flat {
    ($name:ident as $called:literal { $($field:ident: $type:tt,)* }) => {
        #[derive(Record, Debug, PartialEq)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "peers", derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize))]
        #[isoform(rename = $called)]
        #[repr(C)]
        pub struct $name {
            $(#[serde(with = "crate::peers::fixed")] pub $field: $type,)*
        }
    };
}

flat!(K01 as "Material" {
    Cnstatv: i32,
    Cstatev: [f64; 12],
});

flat!(K1 as "Material" {
    Cnstatv: i32,
    Cstatev: [f64; 12],
    Cnprops: i32,
    Cprops: [f64; 110],
    Cndi: [i32; 4],
});

flat!(K10 as "Material" {
    Cnstatv: i32,
    Cstatev: [f64; 12],
    Cnprops: i32,
    Cprops: [f64; 110],
    Cndi: [i32; 4],
    Cnshr: i32,
    Cnpt: i32,
    Cdtime: f64,
    Ctime: [f64; 2],
    Cntens: i32,
    Cdfgrd0: [[f64; 373]; 3],
    Cdfgrd1: [[f64; 3]; 3],
    Cstress: [f64; 106],
});

flat!(K100 as "Material" {
    Cnstatv: i32,
    Cstatev: [f64; 12],
    Cnprops: i32,
    Cprops: [f64; 110],
    Cndi: [i32; 4],
    Cnshr: i32,
    Cnpt: i32,
    Cdtime: f64,
    Ctime: [f64; 2],
    Cntens: i32,
    Cdfgrd0: [[f64; 373]; 3],
    Cdfgrd1: [[f64; 3]; 3],
    Cstress: [f64; 106],
    Cddsdde: [[f64; 106]; 106],
});

#[derive(Record)]
#[repr(C)]
pub struct Series<'a> {
    name: Str<'a>,
    comment: Str<'a>,
    #[isoform(len = "n")]
    values: Slice<'a, f64>,
}

/// The same, owning what it holds.
#[derive(Record, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "peers", derive(rkyv::Archive, rkyv::Serialize, rkyv::Deserialize))]
#[isoform(rename = "Series")]
pub struct OwnedSeries {
    pub name: String,
    pub comment: String,
    #[isoform(len = "n")]
    pub values: Vec<f64>,
}

flat!(Cell as "Cell" {
    kind: i8,
    x: f64,
    id: i16,
    count: i32,
    weight: f32,
    key: i64,
});

flat!(Table as "Table" {
    cells: [Cell; 1000],
});

flat!(A01 as "Doubles" { values: [f64; 12], });
flat!(A1 as "Doubles" { values: [f64; 125], });
flat!(A10 as "Doubles" { values: [f64; 1_250], });
flat!(A100 as "Doubles" { values: [f64; 12_500], });

#[rustfmt::skip]
flat!(Mixed as "Mixed" {
    m0: i32, m1: f64, m2: i16, m3: f32, m4: i64,
    m5: i32, m6: f64, m7: i16, m8: f32, m9: i64,
    m10: i32, m11: f64, m12: i16, m13: f32, m14: i64,
    m15: i32, m16: f64, m17: i16, m18: f32, m19: i64,
    m20: i32, m21: f64, m22: i16, m23: f32, m24: i64,
    m25: i32, m26: f64, m27: i16, m28: f32, m29: i64,
    m30: i32, m31: f64, m32: i16, m33: f32, m34: i64,
    m35: i32, m36: f64, m37: i16, m38: f32, m39: i64,
    m40: i32, m41: f64, m42: i16, m43: f32, m44: i64,
    m45: i32, m46: f64, m47: i16, m48: f32, m49: i64,
    m50: i32, m51: f64, m52: i16, m53: f32, m54: i64,
    m55: i32, m56: f64, m57: i16, m58: f32, m59: i64,
    m60: i32, m61: f64, m62: i16, m63: f32, m64: i64,
    m65: i32, m66: f64, m67: i16, m68: f32, m69: i64,
    m70: i32, m71: f64, m72: i16, m73: f32, m74: i64,
    m75: i32, m76: f64, m77: i16, m78: f32, m79: i64,
    m80: i32, m81: f64, m82: i16, m83: f32, m84: i64,
    m85: i32, m86: f64, m87: i16, m88: f32, m89: i64,
    m90: i32, m91: f64, m92: i16, m93: f32, m94: i64,
    m95: i32, m96: f64, m97: i16, m98: f32, m99: i64,
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;
    use isoform::core::Layout;

    fn format<T: Sent>() -> crate::Result<&'static isoform::Format> {
        Ok(T::format())
    }

    #[test]
    fn structs_are_what_the_workloads_declare() {
        for workload in Workload::all() {
            let format = with_record!(workload, format()).unwrap();
            assert_eq!(format, &workload.on(&Layout::X86_64).unwrap(), "{}", workload.name);
        }
    }
}
