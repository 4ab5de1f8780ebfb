//! `isoform_fuzz::description`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(description);
