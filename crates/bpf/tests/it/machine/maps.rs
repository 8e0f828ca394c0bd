//! Maps against models: the operations at random, from programs and from outside.

use proptest::prelude::*;
use std::collections::VecDeque;
use wakelab_bpf::image::{Map, MapKind};
use wakelab_bpf::machine::Machine;
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::{TestKernel, machine};

const E2BIG: u64 = -7i64 as u64;
const ENOENT: u64 = -2i64 as u64;
const EEXIST: u64 = -17i64 as u64;

/// Programs that look up, update and delete with a key of 8 bytes and a value of 8.
fn programs(maps: Vec<Map>) -> Machine {
    let text = "fn lookup\n*(u64 *)(r10 - 8) = r1; r1 = map m; r2 = r10; r2 += -8; call 1; exit\n\
                fn update\n*(u64 *)(r10 - 8) = r1; *(u64 *)(r10 - 16) = r2; r4 = r3; r1 = map m; r2 = r10; r2 += -8\n\
                r3 = r10; r3 += -16; call 2; exit\n\
                fn delete\n*(u64 *)(r10 - 8) = r1; r1 = map m; r2 = r10; r2 += -8; call 3; exit\n\
                fn push\n*(u64 *)(r10 - 8) = r1; r3 = r2; r1 = map m; r2 = r10; r2 += -8; call 87; exit\n\
                fn pop\nr1 = map m; r2 = r10; r2 += -8; call 88; if r0 != 0 goto end; r0 = *(u64 *)(r10 - 8); end:; \
                exit\n\
                fn peek\nr1 = map m; r2 = r10; r2 += -8; call 89; if r0 != 0 goto no; r0 = *(u64 *)(r10 - 8); no:; \
                exit\n\
                fn each\nr6 = r1; r1 = map m; r2 = fn one; r3 = r6; r4 = 0; call 164; exit\n\
                fn one\nr1 = *(u64 *)(r4 + 0); r2 = *(u64 *)(r3 + 0); r1 *= 31; r1 += r2; *(u64 *)(r4 + 0) = r1; \
                r0 = 0; exit";
    machine(assemble(text, maps))
}

struct Programs(Machine, TestKernel);

impl Programs {
    fn call(&mut self, name: &str, args: &[u64]) -> u64 {
        let function = self.0.function(name).unwrap();
        self.0.call(&mut self.1, function, args).unwrap_or_else(|fault| panic!("{fault}"))
    }

    fn get(&mut self, key: u64) -> Option<u64> {
        let at = self.call("lookup", &[key]);
        (at != 0).then(|| self.0.memory().read_u64(at).unwrap())
    }
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Lookup(u64),
    Update(u64, u64, u64),
    Delete(u64),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let key = 0u64..8;
    let action = prop_oneof![
        key.clone().prop_map(Action::Lookup),
        (key.clone(), any::<u64>(), 0u64..3).prop_map(|(key, value, flags)| Action::Update(key, value, flags)),
        (key.clone(), any::<u64>()).prop_map(|(key, value)| Action::Update(key, value, 0)),
        key.prop_map(Action::Delete),
    ];
    prop::collection::vec(action, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_hash_map_keeps_what_was_put_in(actions in actions(), lru in any::<bool>()) {
        let kind = if lru { MapKind::LruHash } else { MapKind::Hash };
        let mut m = Programs(programs(vec![map("m", kind, 8, 8, 5)]), TestKernel::default());
        // In the order of the map.
        let mut model: Vec<(u64, u64)> = Vec::new();
        for action in actions {
            match action {
                Action::Lookup(key) => {
                    let at = model.iter().position(|(other, _)| *other == key);
                    prop_assert_eq!(m.get(key), at.map(|at| model[at].1));
                    if let (Some(at), true) = (at, lru) {
                        let used = model.remove(at);
                        model.push(used);
                    }
                }
                Action::Update(key, value, flags) => {
                    let at = model.iter().position(|(other, _)| *other == key);
                    let want = match (at, flags) {
                        (Some(_), 1) => EEXIST,
                        (None, 2) => ENOENT,
                        (None, _) if model.len() == 5 && !lru => E2BIG,
                        _ => 0,
                    };
                    prop_assert_eq!(m.call("update", &[key, value, flags]), want);
                    if want == 0 {
                        if let Some(at) = at {
                            model.remove(at);
                        } else if model.len() == 5 {
                            model.remove(0);
                        }
                        model.push((key, value));
                    }
                }
                Action::Delete(key) => {
                    let at = model.iter().position(|(other, _)| *other == key);
                    prop_assert_eq!(m.call("delete", &[key]), if at.is_some() { 0 } else { ENOENT });
                    if let Some(at) = at {
                        model.remove(at);
                    }
                }
            }
            let keys: Vec<Vec<u8>> = model.iter().map(|(key, _)| key.to_le_bytes().to_vec()).collect();
            prop_assert_eq!(m.0.map_keys(0), keys);
        }
        let sum = m.0.memory_mut().region("sum", 8);
        prop_assert_eq!(m.call("each", &[sum]), model.len() as u64);
        let want = model.iter().fold(0u64, |sum, (_, value)| sum.wrapping_mul(31).wrapping_add(*value));
        prop_assert_eq!(m.0.memory().read_u64(sum).unwrap(), want);
    }

    #[test]
    fn queues_and_stacks(
        values in prop::collection::vec((any::<bool>(), 1u64..1000, 0u64..3), 0..40),
        stack in any::<bool>(),
    ) {
        let kind = if stack { MapKind::Stack } else { MapKind::Queue };
        let mut m = Programs(programs(vec![map("m", kind, 0, 8, 4)]), TestKernel::default());
        let mut model = VecDeque::new();
        for (push, value, flags) in values {
            if push {
                let want = match flags {
                    1 => -22i64 as u64,
                    0 if model.len() == 4 => E2BIG,
                    _ => 0,
                };
                prop_assert_eq!(m.call("push", &[value, flags]), want);
                if want == 0 {
                    if model.len() == 4 {
                        model.pop_front();
                    }
                    model.push_back(value);
                }
            } else {
                let next = if stack { model.back() } else { model.front() };
                prop_assert_eq!(m.call("peek", &[]), next.copied().unwrap_or(ENOENT));
                let next = if stack { model.pop_back() } else { model.pop_front() };
                prop_assert_eq!(m.call("pop", &[]), next.unwrap_or(ENOENT));
            }
        }
    }

    #[test]
    fn a_trie_finds_the_longest_prefix(
        entries in prop::collection::vec((0u32..=24, any::<[u8; 3]>()), 0..20),
        keys in prop::collection::vec((0u32..=24, any::<[u8; 3]>()), 1..20),
    ) {
        let mut machine = machine(assemble("fn main\nexit", vec![map("m", MapKind::LpmTrie, 7, 8, 100)]));
        let bit = |bytes: [u8; 3], at: u32| bytes[at as usize / 8] >> (7 - at % 8) & 1;
        let bits = |bytes, count: u32| (0..count).map(|at| bit(bytes, at)).collect::<Vec<_>>();
        let key = |count: u32, bytes: [u8; 3]| [&count.to_le_bytes()[..], &bytes[..]].concat();
        let mut model: Vec<(Vec<u8>, u64)> = Vec::new();
        // Prefixes of the keys, too, so that something is found.
        let related = keys.iter().map(|(count, bytes)| (count / 2, *bytes));
        for (at, (count, bytes)) in entries.into_iter().chain(related).enumerate() {
            machine.map_update(&mut TestKernel::default(), 0, &key(count, bytes), &(at as u64).to_le_bytes()).unwrap();
            let prefix = bits(bytes, count);
            model.retain(|(other, _)| *other != prefix);
            model.push((prefix, at as u64));
        }
        for (count, bytes) in keys {
            let wanted = bits(bytes, count);
            let fits = model.iter().filter(|(prefix, _)| wanted.starts_with(prefix));
            let best = fits.max_by_key(|(prefix, _)| prefix.len());
            let found = machine.map_lookup(0, &key(count, bytes)).map(|at| machine.memory().read_u64(at).unwrap());
            prop_assert_eq!(found, best.map(|(_, value)| *value));
        }
    }
}

#[test]
fn arrays_have_all_their_elements() {
    let mut array = map("m", MapKind::Array, 4, 12, 3);
    array.data = (0..12).collect();
    let mut machine = machine(assemble("fn main\nexit", vec![array]));
    let at = |machine: &mut Machine, index: u32| machine.map_lookup(0, &index.to_le_bytes());
    let first = at(&mut machine, 0).unwrap();
    assert_eq!(machine.memory().bytes(first, 12).unwrap(), (0..12).collect::<Vec<u8>>());
    // Values are 8 bytes aligned.
    assert_eq!(at(&mut machine, 1), Some(first + 16));
    assert_eq!(at(&mut machine, 3), None);
    assert_eq!(machine.map_update(&mut TestKernel::default(), 0, &3u32.to_le_bytes(), &[0; 12]), Err(-7));
    assert_eq!(machine.map_update(&mut TestKernel::default(), 0, &2u32.to_le_bytes(), &[5; 12]), Ok(()));
    assert_eq!(machine.memory().read_u8(first + 32 + 11), Ok(5));
}

#[test]
fn per_cpu_maps_have_a_value_for_each_cpu() {
    for kind in [MapKind::PercpuArray, MapKind::PercpuHash] {
        let key = if kind == MapKind::PercpuArray { 4 } else { 8 };
        let mut m = Programs(programs(vec![map("m", kind, key, 8, 2)]), TestKernel::default());
        for cpu in 0..8 {
            m.1.cpu = cpu;
            assert_eq!(m.call("update", &[1, u64::from(cpu) + 100, 0]), 0);
        }
        for cpu in 0..8 {
            m.1.cpu = cpu;
            assert_eq!(m.get(1), Some(u64::from(cpu) + 100), "{kind:?}");
            let key = &1u64.to_le_bytes()[..key as usize];
            let at = m.0.map_lookup_percpu(0, key, cpu).unwrap();
            assert_eq!(m.0.memory().read_u64(at), Ok(u64::from(cpu) + 100));
        }
        assert_eq!(m.0.map_lookup_percpu(0, &1u64.to_le_bytes()[..key as usize], 8), None);
    }
}

#[test]
fn maps_of_maps_give_their_maps() {
    let text = "fn main\n*(u32 *)(r10 - 4) = r1; r1 = map outer; r2 = r10; r2 += -4; call 1; if r0 == 0 goto none\n\
                r1 = r0; r2 = r10; r2 += -4; *(u32 *)(r10 - 4) = 0; call 1; r0 = *(u64 *)(r0 + 0); exit\nnone:; \
                r0 = -1; exit";
    let mut inner = map("inner", MapKind::Array, 4, 8, 1);
    inner.data = vec![1, 0, 0, 0, 0, 0, 0, 0];
    for kind in [MapKind::ArrayOfMaps, MapKind::HashOfMaps] {
        let mut outer = map("outer", kind, 4, 4, 4);
        outer.inner = Some(Box::new(inner.clone()));
        if kind == MapKind::ArrayOfMaps {
            outer.slots = vec![None, Some(0)];
        }
        let mut machine = machine(assemble(text, vec![inner.clone(), outer]));
        let mut kernel = TestKernel::default();
        let mut other = map("made later", MapKind::Array, 4, 8, 1);
        other.data = vec![2, 0, 0, 0, 0, 0, 0, 0];
        let later = machine.map_create(other).unwrap();
        machine.map_set_inner(1, &1u32.to_le_bytes(), Some(0)).unwrap();
        machine.map_set_inner(1, &3u32.to_le_bytes(), Some(later)).unwrap();
        let found: Vec<u64> = (0..4).map(|key| machine.call(&mut kernel, 0, &[key]).unwrap()).collect();
        assert_eq!(found, [u64::MAX, 1, u64::MAX, 2], "{kind:?}");
        machine.map_set_inner(1, &3u32.to_le_bytes(), None).unwrap();
        assert_eq!(machine.call(&mut kernel, 0, &[3]), Ok(u64::MAX));
    }
}

#[test]
fn ring_buffers_are_read_in_the_order_of_reservations() {
    let text = "fn reserve\nr2 = 16; r1 = map ring; r3 = 0; call 131; if r0 == 0 goto none; *(u64 *)(r0 + 0) = 1; \
                none:; exit\n\
                fn submit\nr2 = 0; call 132; r0 = 0; exit\nfn discard\nr2 = 0; call 133; r0 = 0; exit\n\
                fn used\nr1 = map ring; r2 = 0; call 134; exit\nfn write\n*(u64 *)(r1 + 0) = 2; r0 = 0; exit";
    let mut machine = machine(assemble(text, vec![map("ring", MapKind::Ringbuf, 0, 0, 4096)]));
    let mut kernel = TestKernel::default();
    let mut call = |machine: &mut Machine, function: u32, arg: u64| machine.call(&mut kernel, function, &[arg]);
    let records: Vec<u64> = (0..3).map(|_| call(&mut machine, 0, 0).unwrap()).collect();
    call(&mut machine, 1, records[1]).unwrap();
    assert!(machine.ringbuf_take(0).is_empty());
    call(&mut machine, 1, records[0]).unwrap();
    call(&mut machine, 2, records[2]).unwrap();
    assert_eq!(call(&mut machine, 3, 0), Ok(72));
    assert!(call(&mut machine, 4, records[0]).is_err());
    assert!(call(&mut machine, 1, records[0]).is_err());
    let one = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(machine.ringbuf_take(0), [one, one]);
    assert_eq!(call(&mut machine, 3, 0), Ok(0));
    // Nobody reads: it fills up, as the kernel's does, with one byte less than it has.
    let count = (0..1000).take_while(|_| call(&mut machine, 0, 0).unwrap() != 0).count();
    assert_eq!(count, 4095 / 24);
}

#[test]
fn user_ring_buffers_are_drained() {
    let text = "fn main\n*(u64 *)(r10 - 8) = 0; r1 = map ring; r2 = fn one; r3 = r10; r3 += -8; r4 = 0; call 209\n\
                r1 = *(u64 *)(r10 - 8); r1 <<= 8; r0 |= r1; exit\n\
                fn one\nr6 = r2; r2 = 0; r3 = 8; call 203; if r0 == 0 goto bad; r1 = *(u64 *)(r0 + 0)\n\
                r2 = *(u64 *)(r6 + 0); r2 += r1; *(u64 *)(r6 + 0) = r2; r0 = 0; if r1 != 99 goto end; r0 = 1; \
                goto end\n\
                bad:; r0 = 0\nend:; exit";
    let mut machine = machine(assemble(text, vec![map("ring", MapKind::UserRingbuf, 0, 0, 4096)]));
    for sample in [1u64, 2, 99, 5] {
        assert!(machine.user_ringbuf_push(0, &sample.to_le_bytes()));
    }
    let mut kernel = TestKernel::default();
    assert_eq!(machine.call(&mut kernel, 0, &[]), Ok(3 | 102 << 8));
    assert_eq!(machine.call(&mut kernel, 0, &[]), Ok(1 | 5 << 8));
    assert!((0..1000).any(|_| !machine.user_ringbuf_push(0, &[0; 8])));
}

#[test]
fn storage_is_made_once_for_an_owner() {
    let text = "fn get\nr4 = r2; r2 = r1; r1 = map tasks; r3 = r10; r3 += -8; *(u64 *)(r10 - 8) = 5; call 156; exit\n\
                fn delete\nr2 = r1; r1 = map tasks; call 157; exit";
    let mut machine = machine(assemble(text, vec![map("tasks", MapKind::TaskStorage, 4, 8, 0)]));
    let mut kernel = TestKernel::default();
    let mut call =
        |machine: &mut Machine, function: u32, args: [u64; 2]| machine.call(&mut kernel, function, &args).unwrap();
    let (one, two) = (7u64 << 32, 8u64 << 32);
    assert_eq!(call(&mut machine, 0, [one, 0]), 0);
    let first = call(&mut machine, 0, [one, 1]);
    let second = call(&mut machine, 0, [two, 1]);
    assert_ne!(first, second);
    assert_eq!(machine.memory().read_u64(first), Ok(5));
    machine.memory_mut().write_u64(first, 6).unwrap();
    assert_eq!(call(&mut machine, 0, [one, 1]), first);
    assert_eq!(machine.memory().read_u64(first), Ok(6));
    assert_eq!(machine.storage(0, two), Some(second));
    assert_eq!(call(&mut machine, 0, [0, 1]), 0);
    assert_eq!(call(&mut machine, 1, [one, 0]), 0);
    assert_eq!(call(&mut machine, 1, [one, 0]), ENOENT);
    assert_eq!(call(&mut machine, 0, [one, 0]), 0);
    assert_eq!(machine.map_len(0), 1);
}
