//! `isoform_fuzz::json`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(json);
