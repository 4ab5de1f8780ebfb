//! `isoform_fuzz::frames`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(frames);
