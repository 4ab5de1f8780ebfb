//! `isoform_fuzz::rules`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(rules);
