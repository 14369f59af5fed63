#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| feedbench_fuzz_properties::fix::session(bytes));
