//! `isoform_fuzz::handshake`, for libFuzzer.

#![no_main]

isoform_fuzz::target!(handshake);
