//! `isoform_fuzz::query`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(query);
