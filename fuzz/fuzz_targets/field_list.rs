#![no_main]

isoform_fuzz::target!(field_list);
