//! Objects that are cut or have other bytes are refused, or linked: nothing panics.

use crate::loader::{KERNEL, RELOCATIONS, SIMPLE, options};
use wakelab_bpf::btf::Btf;
use wakelab_bpf::reduced_btf::reduce;
use wakelab_bpf::{LinkOptions, Object};

/// A generator of numbers (Marsaglia's xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// The object with some bytes changed, or cut.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if random.below(10) == 0 {
        bytes.truncate(random.below(bytes.len()));
    }
    for _ in 0..random.below(8) + 1 {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        bytes[at] = match random.below(3) {
            0 => 0xff,
            1 => bytes[at] ^ 1 << random.below(8),
            _ => random.below(256) as u8,
        };
    }
    bytes
}

fn survives(bytes: &[u8], kernel: &Btf, options: &LinkOptions<'_>, cases: usize, seed: u64) {
    let mut random = Random(seed);
    let (mut refused, mut linked) = (0, 0);
    for _ in 0..cases {
        let bytes = damaged(bytes, &mut random);
        match Object::parse(&bytes).and_then(|object| object.link(kernel, options)) {
            Ok(mut image) => {
                linked += 1;
                let _ = image.set_number("nr_cpus", 1);
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(refused > cases / 20 && linked > cases / 20, "refused {refused}, linked {linked} of {cases}");
}

#[test]
fn damaged_objects_do_no_harm() {
    let kernel = Btf::of_elf(KERNEL).unwrap();
    survives(RELOCATIONS, &kernel, &options(), 1000, 0x1234_5678_9abc_def1);
}

#[test]
fn damaged_objects_that_a_kernels_tools_made_do_no_harm() {
    let object = Object::parse(SIMPLE).unwrap();
    survives(SIMPLE, object.btf(), &LinkOptions::default(), 300, 0xfeed_beef_cafe_0001);
}

#[test]
fn damaged_kernel_types_do_no_harm() {
    let object = Object::parse(RELOCATIONS).unwrap();
    let mut random = Random(0x0ddb_a110_ddba_1101);
    let mut parsed = 0;
    for _ in 0..1000 {
        let Ok(kernel) = Btf::of_elf(&damaged(KERNEL, &mut random)) else { continue };
        parsed += 1;
        let _ = object.link(&kernel, &options());
        let reduced = reduce(&kernel, &["*"]);
        Btf::parse(&reduced).unwrap();
    }
    assert!(parsed > 100, "{parsed}");
}
