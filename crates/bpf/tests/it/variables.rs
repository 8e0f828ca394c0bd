//! Global variables by name.

use crate::loader::{KERNEL, RELOCATIONS, options};
use wakelab_bpf::btf::Btf;
use wakelab_bpf::image::Image;
use wakelab_bpf::{Object, VariableError};

fn image() -> Image {
    Object::parse(RELOCATIONS).unwrap().link(&Btf::of_elf(KERNEL).unwrap(), &options()).unwrap()
}

#[test]
fn a_part_of_a_variable_is_found_by_its_path() {
    let image = image();
    // struct { u64 cap; u16 list[3]; struct own { u64 a; u64 b; u32 c; } owns[2]; } cpus[8]
    let (map, base, size) = image.variable("cpus").unwrap();
    assert_eq!(size, 8 * 64);
    let places = [
        ("cpus[0]", 0, 64),
        ("cpus[3]", 3 * 64, 64),
        ("cpus[3].cap", 3 * 64, 8),
        ("cpus[3].list", 3 * 64 + 8, 6),
        ("cpus[3].list[2]", 3 * 64 + 8 + 4, 2),
        ("cpus[7].owns[1].b", 7 * 64 + 16 + 24 + 8, 8),
    ];
    for (name, offset, size) in places {
        assert_eq!(image.variable(name), Ok((map, base + offset, size)), "{name}");
    }
    let wrong =
        ["cpus[8]", "cpus[3].cap[0]", "cpus[3].list[3]", "cpus[0].owns[2].a", "cpus[0].other", "cpus[x]", "cpu"];
    for name in wrong {
        assert_eq!(image.variable(name), Err(VariableError::Missing(name.to_string())), "{name}");
    }
}

#[test]
fn a_variable_is_set_and_read() {
    let mut image = image();
    assert_eq!(image.number_of("nr_cpus"), Ok(4));
    assert_eq!(image.number_of("in_custom"), Ok(-5i64 as u64));
    image.set_number("nr_cpus", 16).unwrap();
    image.set_number("in_custom", -7).unwrap();
    image.set_number("cpus[2].list[1]", 0xffff).unwrap();
    image.set_variable("hidden", &[1; 16]).unwrap();
    assert_eq!(image.number_of("nr_cpus"), Ok(16));
    assert_eq!(image.number_of("in_custom"), Ok(-7i64 as u64));
    assert_eq!(image.bytes_of("cpus[2].list").unwrap(), [0, 0, 0xff, 0xff, 0, 0]);
    assert_eq!(image.number_of("hidden[3]"), Ok(0x0101_0101));
    let error = image.set_number("cpus[2].list[1]", 0x1_0000).unwrap_err();
    assert_eq!(error.to_string(), "cpus[2].list[1] has 2 bytes, which cannot hold 65536");
    assert!(image.set_variable("nr_cpus", &[0; 8]).is_err());
    assert!(image.set_number("cpus[2]", 1).is_err());
}

#[test]
fn the_first_elements_of_an_array_are_set_at_once() {
    let mut image = image();
    image.set_array("cpus[2].list", &[7, -1]).unwrap();
    assert_eq!(image.bytes_of("cpus[2].list").unwrap(), [7, 0, 0xff, 0xff, 0, 0]);
    image.set_array("hidden", &[1, 2, 3, 4]).unwrap();
    assert_eq!(image.number_of("hidden[3]"), Ok(4));
    let too_many = image.set_array("cpus[2].list", &[0; 4]).unwrap_err();
    assert_eq!(too_many, VariableError::Missing("cpus[2].list[3]".to_string()));
    let too_large = image.set_array("cpus[2].list", &[1, 0x1_0000]).unwrap_err();
    assert_eq!(too_large.to_string(), "cpus[2].list[1] has 2 bytes, which cannot hold 65536");
    assert!(image.set_array("none", &[1]).is_err());
}

#[test]
fn a_section_grows_by_its_last_array() {
    let mut image = image();
    image.set_number("cpus[1].cap", 7).unwrap();
    let size = image.maps.iter().find(|map| map.name == ".rodata").unwrap().value_size;
    image.resize(".rodata", size + 64).unwrap();
    image.set_number("cpus[8].cap", 9).unwrap();
    assert_eq!((image.number_of("cpus[1].cap"), image.number_of("cpus[8].cap")), (Ok(7), Ok(9)));
    assert!(image.resize(".rodata", size + 65).is_err());
    assert!(image.resize(".nothing", 8).is_err());
}
