//! `isoform_fuzz::body`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(body);
