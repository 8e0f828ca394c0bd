//! The steps of a load's tasks on a real kernel, from the recording program.

use crate::load::PREFIX;
use anyhow::{Context, Result, bail};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{OpenObject, RingBufferBuilder};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use wakelab_scx_core::flags::{SCX_DSQ_GLOBAL, SCX_DSQ_LOCAL};
use wakelab_scx_loads::doings::{Doing, Queue, Queued, What, Who};

mod skel {
    #![allow(missing_docs, clippy::all)]
    include!(concat!(env!("OUT_DIR"), "/bpf_skel.rs"));
}

/// As `struct doing` and `enum kind` of src/bpf/doings.bpf.c.
const SIZE: usize = 48;
const WAKING: u32 = 0;
const SWITCH: u32 = 1;
const INSERT: u32 = 2;
const ENQUEUED: u32 = 3;
const REMOTE: u32 = 4;

/// A recording that runs.
pub struct Recorder<'a> {
    skel: skel::BpfSkel<'a>,
}

/// CLOCK_MONOTONIC, which `bpf_ktime_get_ns()` reads, ns.
pub fn now() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the argument is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl<'a> Recorder<'a> {
    /// Begins to record.
    ///
    /// # Errors
    /// Fails if the kernel refuses the program.
    pub fn start(place: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        let open = skel::BpfSkelBuilder::default().open(place).context("the recording program")?;
        let mut skel = open.load().context("the kernel rejects the recording program")?;
        skel.attach().context("cannot attach the recording program")?;
        Ok(Recorder { skel })
    }

    /// Returns the events from one time to another, and how often tasks were queued meanwhile.
    ///
    /// # Errors
    /// Fails if something was lost.
    pub fn finish(self, from: u64, to: u64) -> Result<(Vec<Doing>, Queued)> {
        let taken = RefCell::new(Vec::new());
        let mut builder = RingBufferBuilder::new();
        builder.add(&self.skel.maps.doings, |bytes| {
            taken.borrow_mut().extend_from_slice(&bytes[..SIZE]);
            0
        })?;
        let ring = builder.build()?;
        while ring.consume_raw_n(1024) > 0 {}
        drop(ring);
        let lost = self.skel.maps.bss_data.as_ref().map_or(0, |bss| bss.lost);
        if lost != 0 {
            bail!("{lost} events were lost: the ring buffer was full");
        }
        let mut result = (Vec::new(), Queued::default());
        for event in taken.into_inner().chunks_exact(SIZE) {
            take(event, (from, to), &mut result)?;
        }
        result.0.sort_by_key(|doing| doing.at);
        Ok(result)
    }
}

fn take(event: &[u8], (from, to): (u64, u64), (doings, queued): &mut (Vec<Doing>, Queued)) -> Result<()> {
    let u64_at = |at: usize| u64::from_ne_bytes(event[at..at + 8].try_into().expect("8 bytes"));
    let u32_at = |at: usize| u32::from_ne_bytes(event[at..at + 4].try_into().expect("4 bytes"));
    let (at, kind, cpu) = (u64_at(0), u32_at(8), u32_at(12));
    if at < from || at > to {
        return Ok(());
    }
    let who = |pid: u32, comm: &[u8]| {
        let name = comm.split(|&byte| byte == 0).next().unwrap_or_default();
        let of = std::str::from_utf8(name).ok()?.strip_prefix(PREFIX)?.parse().ok()?;
        Some(Who { id: pid, of })
    };
    let (first, second) = (who(u32_at(16), &event[24..32]), who(u32_at(20), &event[32..40]));
    let value = u64_at(40);
    match kind {
        WAKING => {
            let who = first.context("a wake-up of no task")?;
            doings.push(Doing { at, cpu, what: What::Waking(who) });
        }
        SWITCH => doings.push(Doing { at, cpu, what: What::Switch { prev: first, sleeps: value != 0, next: second } }),
        INSERT => queued.insert(match value {
            SCX_DSQ_LOCAL => Queue::Local,
            SCX_DSQ_GLOBAL => Queue::Global,
            _ => Queue::User,
        }),
        ENQUEUED => queued.direct += value,
        REMOTE => queued.remote += 1,
        other => bail!("an event of unknown kind {other}"),
    }
    Ok(())
}
