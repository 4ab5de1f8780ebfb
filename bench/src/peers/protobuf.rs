//! prost: Protocol Buffers. Its users have structs of its own kind, in which arrays are `Vec`s without a fixed length; so
//! that is what is read into, again and again.
#![allow(missing_docs, non_snake_case, reason = "they are described where the workloads are")]

use super::codec::Codec;
use crate::Result;
use crate::records::{A01, A1, A10, A100, Cell, K01, K1, K10, K100, Mixed, OwnedSeries, Table};
use prost::Message;

pub(super) struct Protobuf;

/// The message that stands for a record.
pub(super) trait Described: Sized {
    type Message: Message + Default + PartialEq + From<Self>;
}

impl<T: Described> Codec<T> for Protobuf {
    const NAME: &'static str = "prost";
    type Value = T::Message;

    fn new() -> Result<Protobuf> {
        Ok(Protobuf)
    }

    fn value(record: T) -> T::Message {
        record.into()
    }

    fn encode(&self, value: &T::Message, out: &mut Vec<u8>) -> Result<()> {
        Ok(value.encode(out)?)
    }

    fn decode(&self, message: &[u8]) -> Result<T::Message> {
        Ok(T::Message::decode(message)?)
    }

    fn decode_into(&self, message: &[u8], value: &mut T::Message) -> Result<()> {
        value.clear();
        Ok(value.merge(message)?)
    }
}

/// Makes the message of each record, as a `.proto` file would.
macro_rules! messages {
    ($($message:ident for $record:ident { $($field:ident: $type:ty = ($($attribute:tt)*),)* })*) => {$(
        #[derive(Clone, PartialEq, Message)]
        pub(super) struct $message {
            $(#[prost($($attribute)*)] $field: $type,)*
        }

        impl From<$record> for $message {
            fn from(record: $record) -> $message {
                $message { $($field: Put::put(record.$field),)* }
            }
        }

        impl Described for $record {
            type Message = $message;
        }
    )*};
}

#[rustfmt::skip]
messages! {
    K01Message for K01 {
        Cnstatv: i32 = (sint32, tag = "1"),
        Cstatev: Vec<f64> = (double, repeated, tag = "2"),
    }
    K1Message for K1 {
        Cnstatv: i32 = (sint32, tag = "1"),
        Cstatev: Vec<f64> = (double, repeated, tag = "2"),
        Cnprops: i32 = (sint32, tag = "3"),
        Cprops: Vec<f64> = (double, repeated, tag = "4"),
        Cndi: Vec<i32> = (sint32, repeated, tag = "5"),
    }
    K10Message for K10 {
        Cnstatv: i32 = (sint32, tag = "1"),
        Cstatev: Vec<f64> = (double, repeated, tag = "2"),
        Cnprops: i32 = (sint32, tag = "3"),
        Cprops: Vec<f64> = (double, repeated, tag = "4"),
        Cndi: Vec<i32> = (sint32, repeated, tag = "5"),
        Cnshr: i32 = (sint32, tag = "6"),
        Cnpt: i32 = (sint32, tag = "7"),
        Cdtime: f64 = (double, tag = "8"),
        Ctime: Vec<f64> = (double, repeated, tag = "9"),
        Cntens: i32 = (sint32, tag = "10"),
        Cdfgrd0: Vec<f64> = (double, repeated, tag = "11"),
        Cdfgrd1: Vec<f64> = (double, repeated, tag = "12"),
        Cstress: Vec<f64> = (double, repeated, tag = "13"),
    }
    K100Message for K100 {
        Cnstatv: i32 = (sint32, tag = "1"),
        Cstatev: Vec<f64> = (double, repeated, tag = "2"),
        Cnprops: i32 = (sint32, tag = "3"),
        Cprops: Vec<f64> = (double, repeated, tag = "4"),
        Cndi: Vec<i32> = (sint32, repeated, tag = "5"),
        Cnshr: i32 = (sint32, tag = "6"),
        Cnpt: i32 = (sint32, tag = "7"),
        Cdtime: f64 = (double, tag = "8"),
        Ctime: Vec<f64> = (double, repeated, tag = "9"),
        Cntens: i32 = (sint32, tag = "10"),
        Cdfgrd0: Vec<f64> = (double, repeated, tag = "11"),
        Cdfgrd1: Vec<f64> = (double, repeated, tag = "12"),
        Cstress: Vec<f64> = (double, repeated, tag = "13"),
        Cddsdde: Vec<f64> = (double, repeated, tag = "14"),
    }
    OwnedSeriesMessage for OwnedSeries {
        name: String = (string, tag = "1"),
        comment: String = (string, tag = "2"),
        values: Vec<f64> = (double, repeated, tag = "3"),
    }
    CellMessage for Cell {
        kind: i32 = (sint32, tag = "1"),
        x: f64 = (double, tag = "2"),
        id: i32 = (sint32, tag = "3"),
        count: i32 = (sint32, tag = "4"),
        weight: f32 = (float, tag = "5"),
        key: i64 = (sint64, tag = "6"),
    }
    TableMessage for Table {
        cells: Vec<CellMessage> = (message, repeated, tag = "1"),
    }
    A01Message for A01 {
        values: Vec<f64> = (double, repeated, tag = "1"),
    }
    A1Message for A1 {
        values: Vec<f64> = (double, repeated, tag = "1"),
    }
    A10Message for A10 {
        values: Vec<f64> = (double, repeated, tag = "1"),
    }
    A100Message for A100 {
        values: Vec<f64> = (double, repeated, tag = "1"),
    }
    MixedMessage for Mixed {
        m0: i32 = (sint32, tag = "1"), m1: f64 = (double, tag = "2"), m2: i32 = (sint32, tag = "3"),
        m3: f32 = (float, tag = "4"), m4: i64 = (sint64, tag = "5"), m5: i32 = (sint32, tag = "6"),
        m6: f64 = (double, tag = "7"), m7: i32 = (sint32, tag = "8"), m8: f32 = (float, tag = "9"),
        m9: i64 = (sint64, tag = "10"), m10: i32 = (sint32, tag = "11"), m11: f64 = (double, tag = "12"),
        m12: i32 = (sint32, tag = "13"), m13: f32 = (float, tag = "14"), m14: i64 = (sint64, tag = "15"),
        m15: i32 = (sint32, tag = "16"), m16: f64 = (double, tag = "17"), m17: i32 = (sint32, tag = "18"),
        m18: f32 = (float, tag = "19"), m19: i64 = (sint64, tag = "20"), m20: i32 = (sint32, tag = "21"),
        m21: f64 = (double, tag = "22"), m22: i32 = (sint32, tag = "23"), m23: f32 = (float, tag = "24"),
        m24: i64 = (sint64, tag = "25"), m25: i32 = (sint32, tag = "26"), m26: f64 = (double, tag = "27"),
        m27: i32 = (sint32, tag = "28"), m28: f32 = (float, tag = "29"), m29: i64 = (sint64, tag = "30"),
        m30: i32 = (sint32, tag = "31"), m31: f64 = (double, tag = "32"), m32: i32 = (sint32, tag = "33"),
        m33: f32 = (float, tag = "34"), m34: i64 = (sint64, tag = "35"), m35: i32 = (sint32, tag = "36"),
        m36: f64 = (double, tag = "37"), m37: i32 = (sint32, tag = "38"), m38: f32 = (float, tag = "39"),
        m39: i64 = (sint64, tag = "40"), m40: i32 = (sint32, tag = "41"), m41: f64 = (double, tag = "42"),
        m42: i32 = (sint32, tag = "43"), m43: f32 = (float, tag = "44"), m44: i64 = (sint64, tag = "45"),
        m45: i32 = (sint32, tag = "46"), m46: f64 = (double, tag = "47"), m47: i32 = (sint32, tag = "48"),
        m48: f32 = (float, tag = "49"), m49: i64 = (sint64, tag = "50"), m50: i32 = (sint32, tag = "51"),
        m51: f64 = (double, tag = "52"), m52: i32 = (sint32, tag = "53"), m53: f32 = (float, tag = "54"),
        m54: i64 = (sint64, tag = "55"), m55: i32 = (sint32, tag = "56"), m56: f64 = (double, tag = "57"),
        m57: i32 = (sint32, tag = "58"), m58: f32 = (float, tag = "59"), m59: i64 = (sint64, tag = "60"),
        m60: i32 = (sint32, tag = "61"), m61: f64 = (double, tag = "62"), m62: i32 = (sint32, tag = "63"),
        m63: f32 = (float, tag = "64"), m64: i64 = (sint64, tag = "65"), m65: i32 = (sint32, tag = "66"),
        m66: f64 = (double, tag = "67"), m67: i32 = (sint32, tag = "68"), m68: f32 = (float, tag = "69"),
        m69: i64 = (sint64, tag = "70"), m70: i32 = (sint32, tag = "71"), m71: f64 = (double, tag = "72"),
        m72: i32 = (sint32, tag = "73"), m73: f32 = (float, tag = "74"), m74: i64 = (sint64, tag = "75"),
        m75: i32 = (sint32, tag = "76"), m76: f64 = (double, tag = "77"), m77: i32 = (sint32, tag = "78"),
        m78: f32 = (float, tag = "79"), m79: i64 = (sint64, tag = "80"), m80: i32 = (sint32, tag = "81"),
        m81: f64 = (double, tag = "82"), m82: i32 = (sint32, tag = "83"), m83: f32 = (float, tag = "84"),
        m84: i64 = (sint64, tag = "85"), m85: i32 = (sint32, tag = "86"), m86: f64 = (double, tag = "87"),
        m87: i32 = (sint32, tag = "88"), m88: f32 = (float, tag = "89"), m89: i64 = (sint64, tag = "90"),
        m90: i32 = (sint32, tag = "91"), m91: f64 = (double, tag = "92"), m92: i32 = (sint32, tag = "93"),
        m93: f32 = (float, tag = "94"), m94: i64 = (sint64, tag = "95"), m95: i32 = (sint32, tag = "96"),
        m96: f64 = (double, tag = "97"), m97: i32 = (sint32, tag = "98"), m98: f32 = (float, tag = "99"),
        m99: i64 = (sint64, tag = "100"),
    }
}

/// A field's value as a message has it.
trait Put<T> {
    fn put(self) -> T;
}

/// For types that are the message's own, and those that it has a wider one for.
macro_rules! put {
    ($($from:ty as $to:ty,)*) => {$(
        impl Put<$to> for $from {
            fn put(self) -> $to {
                self.into()
            }
        }
    )*};
}

put! {
    i8 as i32,
    i16 as i32,
    i32 as i32,
    i64 as i64,
    f32 as f32,
    f64 as f64,
    String as String,
    Vec<f64> as Vec<f64>,
}

impl<T: Put<U>, U, const N: usize> Put<Vec<U>> for [T; N] {
    fn put(self) -> Vec<U> {
        self.into_iter().map(Put::put).collect()
    }
}

impl<const N: usize, const M: usize> Put<Vec<f64>> for [[f64; N]; M] {
    fn put(self) -> Vec<f64> {
        self.concat()
    }
}

impl Put<CellMessage> for Cell {
    fn put(self) -> CellMessage {
        self.into()
    }
}
