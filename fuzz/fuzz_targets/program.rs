//! `isoform_fuzz::program`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(program);
