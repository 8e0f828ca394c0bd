//! Programs of anything: whatever instructions, helpers and kernel functions get, the machine ends with a result or a
//! fault, and does the same again.

use proptest::prelude::*;
use wakelab_bpf::image::{Insn, LocalType, Map, MapKind};
use wakelab_bpf::machine::{Limits, Machine};
use wakelab_testing::bpf_asm::{assemble, map};
use wakelab_testing::bpf_kernel::TestKernel;
use wakelab_testing::check_bpf::{HELPERS, KFUNCS, KINDS};

/// One step: an instruction of any kind, or a call whose arguments are somewhat likely ones.
#[derive(Clone, Debug)]
enum Step {
    Any(Insn),
    Set(u8, Value),
    Helper(usize),
    Kfunc(usize),
}

#[derive(Clone, Debug)]
enum Value {
    Map(usize),
    Element(usize),
    Stack(u8),
    Function,
    Saved,
    Number(i32),
    Wide(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let odd = (any::<u8>(), 0u8..12, 0u8..12, -20i16..20, any::<i32>());
    let odd = odd.prop_map(|(code, dst, src, off, imm)| Step::Any(Insn { code, dst, src, off, imm }));
    let value = prop_oneof![
        3 => (0..KINDS.len()).prop_map(Value::Map),
        2 => (0..KINDS.len()).prop_map(Value::Element),
        3 => (0u8..64).prop_map(Value::Stack),
        1 => Just(Value::Function),
        2 => Just(Value::Saved),
        3 => (0i32..20).prop_map(Value::Number),
        1 => any::<i32>().prop_map(Value::Number),
        1 => any::<u64>().prop_map(Value::Wide),
    ];
    prop_oneof![
        1 => odd,
        6 => (1u8..6, value).prop_map(|(register, value)| Step::Set(register, value)),
        2 => (0..HELPERS.len()).prop_map(Step::Helper),
        2 => (0..KFUNCS.len()).prop_map(Step::Kfunc),
    ]
}

/// A map of each kind, `m0` to `m15`.
fn maps() -> Vec<Map> {
    let maps = KINDS.iter().enumerate().map(|(at, &kind)| {
        let key =
            if matches!(kind, MapKind::Queue | MapKind::Stack | MapKind::Ringbuf | MapKind::Arena) { 0 } else { 4 };
        let key = if kind == MapKind::LpmTrie { 8 } else { key };
        let of_maps = matches!(kind, MapKind::ArrayOfMaps | MapKind::HashOfMaps);
        let inner = of_maps.then(|| Box::new(map("inner", MapKind::Array, 4, 24, 4)));
        Map { slots: vec![Some(0)], inner, ..map(&format!("m{at}"), kind, key, if of_maps { 4 } else { 24 }, 4) }
    });
    maps.collect()
}

fn text(steps: &[Step]) -> String {
    let mut text = String::from("fn main\nr6 = 0\n");
    for step in steps {
        text += &match step {
            // Its place: `finish()` puts it there.
            Step::Any(_) => "r0 = r0\n".to_string(),
            Step::Set(register, value) => match value {
                Value::Map(at) => format!("r{register} = map m{at}\n"),
                Value::Element(at) if matches!(KINDS[*at], MapKind::Array | MapKind::PercpuArray | MapKind::Arena) => {
                    format!("r{register} = &m{at} + 8\n")
                }
                Value::Element(_) | Value::Saved => format!("r{register} = r6\n"),
                Value::Stack(by) => format!("r{register} = r10; r{register} += -{by}\n"),
                Value::Function => format!("r{register} = fn other\n"),
                Value::Number(number) => format!("r{register} = {number}\n"),
                Value::Wide(number) => format!("r{register} = {} ll\n", *number as i64),
            },
            // Sometimes what a call gave is what the next one takes.
            Step::Helper(at) => format!("call {}; r6 = r0\n", HELPERS[*at]),
            Step::Kfunc(at) => format!("kcall {}; r6 = r0\n", KFUNCS[*at]),
        };
    }
    text + "exit\nfn other\nr0 = *(u64 *)(r2 + 0); r0 = 0; exit\n"
}

/// How many programs are tried: 1,000, or `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: cases.unwrap_or(1_000), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_harms_the_caller(steps in prop::collection::vec(step(), 1..40)) {
        let mut image = assemble(&text(&steps), maps());
        image.local_types = vec![LocalType { id: 5, name: "node".to_string(), size: 48 }];
        let place = Insn { code: 0xbf, ..Insn::default() };
        let odd = steps.iter().filter_map(|step| match step {
            Step::Any(insn) => Some(*insn),
            _ => None,
        });
        for (place, odd) in image.insns.iter_mut().filter(|insn| **insn == place).zip(odd) {
            *place = odd;
        }
        let limits = Limits { insns: 2000, work: 1 << 20, memory: 16 << 20, objects: 50 };
        let kernel_has = |name: &str| matches!(name, "nest" | "read_first");
        let run = || {
            let mut machine = match Machine::new(image.clone(), &limits, 8, &kernel_has) {
                Ok(machine) => machine,
                Err(refused) => return (refused.to_string(), 0),
            };
            let mut kernel = TestKernel { nest: Some(0), ..TestKernel::default() };
            machine.user_ringbuf_push(11, &[1, 2, 3]);
            let results: Vec<String> = (0..3)
                .map(|arg| match machine.call(&mut kernel, 0, &[arg, arg]) {
                    Ok(value) => value.to_string(),
                    Err(fault) => fault.to_string(),
                })
                .collect();
            for (timer, _) in kernel.timers.clone() {
                let _ = machine.call_timer(&mut kernel, timer);
            }
            machine.ringbuf_take(10);
            machine.storage_free(&mut kernel, 5);
            (results.join("\n"), machine.memory().used())
        };
        prop_assert_eq!(run(), run());
    }
}
