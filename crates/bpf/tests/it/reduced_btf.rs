//! Types that are reduced are as they were.

use crate::loader::{KERNEL, RELOCATIONS, SIMPLE, options};
use wakelab_bpf::btf::{Btf, Kind};
use wakelab_bpf::reduced_btf::{missing, reduce};
use wakelab_bpf::{LinkOptions, Object};

#[test]
fn an_object_is_linked_alike_for_the_reduced_types() {
    let object = Object::parse(RELOCATIONS).unwrap();
    let kernel = Btf::of_elf(KERNEL).unwrap();
    let bytes = reduce(&kernel, &["thing", "both", "colour", "wide", "kernel_*"]);
    let reduced = Btf::parse(&bytes).unwrap();
    let (full, small) = (object.link(&kernel, &options()).unwrap(), object.link(&reduced, &options()).unwrap());
    assert_eq!(full.accesses, small.accesses);
    // The number of a kernel's type is another.
    let differ = full.insns.iter().zip(&small.insns).filter(|(a, b)| a != b).count();
    assert!(differ <= 1, "{differ}");
    assert!(missing(object.btf(), &kernel, &reduced).contains(&"ops".to_string()));
}

#[test]
fn structs_that_are_only_pointed_to_become_declarations() {
    let object = Object::parse(SIMPLE).unwrap();
    let full = object.btf();
    let reduced = Btf::parse(&reduce(full, &["sched_ext_entity"])).unwrap();
    let (a, b) =
        (full.find_composite("sched_ext_entity").unwrap(), reduced.find_composite("sched_ext_entity").unwrap());
    let members = |btf: &Btf, id: u32| -> Vec<(String, u32, Option<u64>)> {
        let composite = btf.get(id).kind.composite().unwrap();
        let of = composite.members.iter();
        of.map(|member| (btf.string(member.name).to_string(), member.bit_offset, btf.size(member.kind))).collect()
    };
    assert_eq!(members(full, a), members(&reduced, b));
    assert_eq!(reduced.find_composite("task_struct"), None);
    assert!(reduced.len() < 60, "{}", reduced.len());
    let is_declaration = |kind: &Kind| matches!(kind, Kind::Fwd { .. });
    assert!(reduced.find("task_struct", is_declaration).is_some() || full.find_composite("task_struct").is_none());
    let again = reduce(full, &["sched_ext_entity"]);
    assert_eq!(again, reduce(full, &["sched_ext_entity"]));
    let options = LinkOptions { struct_ops: Some("simple_ops"), ..LinkOptions::default() };
    let image = object.link(&reduced, &options).unwrap();
    assert!(!image.poisoned.is_empty());
}
