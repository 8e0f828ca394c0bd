//! A kernel for programs of BPF: a clock that goes on by 1 us a look, one CPU, no tasks.

use wakelab_bpf::image::Image;
use wakelab_bpf::machine::{Counts, Fault, Kernel, Limits, Machine};

/// What the tests' programs run on.
#[derive(Clone, Debug, Default)]
pub struct TestKernel {
    /// What `bpf_ktime_get_ns()` returned last.
    pub now: u64,
    /// The current CPU.
    pub cpu: u32,
    /// What was printed.
    pub printed: Vec<String>,
    /// Timers that were started, and when they are to expire.
    pub timers: Vec<(u64, u64)>,
    /// `ksym()`'s address for a CPU, 4096 bytes apart.
    pub per_cpu: Option<u64>,
    /// References that were given back with the values that had them.
    pub released: Vec<u64>,
    /// What the kernel function `nest` calls.
    pub nest: Option<u32>,
}

impl Kernel for TestKernel {
    fn kfunc(&mut self, machine: &mut Machine, kfunc: u32, args: [u64; 5]) -> Result<u64, Fault> {
        match machine.image().kfuncs[kfunc as usize].name.as_str() {
            // Calls a program with one less, as long as there is something left.
            "nest" => match self.nest {
                Some(function) if args[0] > 0 => machine.call(self, function, &[args[0] - 1]),
                _ => Ok(7),
            },
            "read_first" => Ok(machine.memory().read_u64(args[0])?),
            other => Err(Fault::kernel(format!("{other}() says no"))),
        }
    }

    fn ktime_ns(&mut self) -> u64 {
        self.now += 1000;
        self.now
    }

    fn smp_processor_id(&mut self) -> u32 {
        self.cpu
    }

    fn prandom_u32(&mut self) -> u32 {
        4
    }

    fn current_task(&mut self) -> u64 {
        0
    }

    fn ksym(&mut self, _: &mut Machine, name: &str, cpu: Option<u32>) -> Option<u64> {
        match (name, cpu) {
            ("runqueues", Some(cpu)) => self.per_cpu.map(|at| at + u64::from(cpu) * 4096),
            _ => None,
        }
    }

    fn kptr_release(&mut self, _: &mut Machine, addr: u64) {
        self.released.push(addr);
    }

    fn timer_start(&mut self, _: &Counts, timer: u64, _: (u32, u32), nsecs: u64, _flags: u64) {
        self.timers.retain(|(other, _)| *other != timer);
        self.timers.push((timer, self.now + nsecs));
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        let before = self.timers.len();
        self.timers.retain(|(other, _)| *other != timer);
        self.timers.len() < before
    }

    fn printk(&mut self, text: String) {
        self.printed.push(text);
    }
}

/// A machine with 8 CPUs for an image.
pub fn machine(image: Image) -> Machine {
    limited(image, Limits::default())
}

/// A machine with 8 CPUs and limits of its own.
pub fn limited(image: Image, limits: Limits) -> Machine {
    Machine::new(image, &limits, 8, &|name| matches!(name, "nest" | "read_first" | "refuse")).unwrap()
}
