//! The events, as a Rust program has them.

use isoform::Record;

/// An event of some size, which lies in memory as it is sent.
pub(super) trait Event: Record<Static = Self> + Clone + PartialEq + Send + Sync + 'static {
    /// The event of this number.
    fn new(step: u32) -> Self;

    /// Gives it another number.
    fn number(&mut self, step: u32);

    /// Its number.
    fn step(&self) -> u32;

    /// What was received, as what it is.
    fn of<'a>(native: &'a Self::Native<'_>) -> &'a Self;
}

macro_rules! events {
    ($($name:ident: $values:literal values, $bytes:literal bytes;)*) => {$(
        #[derive(Record, Clone, Debug, PartialEq)]
        #[isoform(rename = "Event")]
        #[repr(C)]
        pub(super) struct $name {
            pub(super) step: u32,
            /// When it was sent, in two halves, so that there is no gap.
            pub(super) sent: [u32; 2],
            pub(super) values: [f32; $values],
        }

        const _: () = assert!(size_of::<$name>() == $bytes);

        impl Event for $name {
            fn new(step: u32) -> Self {
                $name { step, sent: [0; 2], values: [0.5; $values] }
            }

            #[inline]
            fn number(&mut self, step: u32) {
                self.step = step;
            }

            #[inline]
            fn step(&self) -> u32 {
                self.step
            }

            #[inline]
            fn of<'a>(native: &'a Self::Native<'_>) -> &'a Self {
                native
            }
        }
    )*};
}

events! {
    Small: 22 values, 100 bytes;
    Thousand: 247 values, 1_000 bytes;
    Kilo: 253 values, 1_024 bytes;
    Ten: 2_497 values, 10_000 bytes;
    Large: 24_997 values, 100_000 bytes;
    Huge: 249_997 values, 1_000_000 bytes;
}

/// What another program has in the place of [`Small`].
#[derive(Record)]
#[repr(C)]
pub(super) struct Other {
    pub(super) values: [f64; 22],
    pub(super) step: i64,
}
