//! `isoform_fuzz::document`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(document);
