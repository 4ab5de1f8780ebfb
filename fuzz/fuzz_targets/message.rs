//! `isoform_fuzz::message`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(message);
