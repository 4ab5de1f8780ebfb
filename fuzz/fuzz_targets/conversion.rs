//! `isoform_fuzz::conversion`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(conversion);
