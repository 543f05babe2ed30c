#![no_main]

#[path = "../model_stream.rs"]
mod model_stream;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    model_stream::check_stream(data);
    model_stream::check_error(data);
});
