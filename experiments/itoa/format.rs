//! Nanoseconds that `itoa` takes to format an integer: `format u64` or `format u128`.

use std::hint::black_box;
use std::time::Instant;

const NUMBERS: usize = 4096;
const ROUNDS: u32 = 400;

/// Numbers of every length, by a generator that is the same in every arm.
fn numbers(bits: u32) -> Vec<u128> {
    let mut state: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    (0..NUMBERS)
        .map(|_| {
            state = state.wrapping_mul(0xda94_2042_e4dd_58b5).wrapping_add(1);
            let length = 1 + (state >> 100) as u32 % bits;
            (state ^ (state >> 64)) >> (128 - length)
        })
        .collect()
}

fn time<I: itoa::Integer + Copy>(numbers: &[I]) -> f64 {
    let mut buffer = itoa::Buffer::new();
    let mut length = 0;
    let began = Instant::now();
    for _ in 0..ROUNDS {
        for number in numbers {
            length += black_box(buffer.format(black_box(*number))).len();
        }
    }
    let took = began.elapsed().as_nanos() as f64;
    assert!(length > 0);
    took / f64::from(ROUNDS) / numbers.len() as f64
}

fn main() {
    let each = match std::env::args().nth(1).as_deref() {
        Some("u64") => time(&numbers(64).iter().map(|n| *n as u64).collect::<Vec<_>>()),
        Some("u128") => time(&numbers(128)),
        _ => panic!("format u64 or format u128"),
    };
    println!("each: {each:.3} ns");
}
