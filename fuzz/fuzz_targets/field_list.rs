//! `isoform_fuzz::field_list`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(field_list);
