//! `isoform_fuzz::stream`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(stream);
