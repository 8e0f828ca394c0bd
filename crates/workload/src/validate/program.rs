//! One program: numbers in their ranges, transactions that begin before they are done, and mutexes that are unlocked by
//! the task that holds them.

use super::WrongStep;
use crate::error::WorkloadError;
use crate::{Call, Op, Program};
use std::collections::BTreeSet;

/// Checks the steps of a program. There are `programs` in all.
pub(super) fn check_steps(program: &Program, programs: usize) -> Result<(), WrongStep> {
    for (step, op) in program.ops.iter().enumerate() {
        check_step(step, op, programs).map_err(|what| WrongStep::new(step, what))?;
    }
    transactions(program)
}

fn check_step(step: usize, op: &Op, programs: usize) -> Result<(), String> {
    match *op {
        Op::Run(work)
        | Op::Softirq(work)
        | Op::Sleep(work)
        | Op::Call(Call::Io(work) | Call::RunCpuLocked(work) | Call::Spin { hold: work, .. })
            if work.jitter_pct > 100 =>
        {
            Err(format!("the jitter is {}%; expected 0 to 100", work.jitter_pct))
        }
        Op::Fork { program } if program as usize >= programs => {
            Err(format!("forks program {program}, but there are only {programs}, counted from 0"))
        }
        Op::Call(Call::QueueWork { program, .. }) if program as usize >= programs => {
            Err(format!("queues program {program}, but there are only {programs}, counted from 0"))
        }
        Op::Repeat { to, .. } if to as usize >= step => {
            Err(format!("goes back to step {to}; expected an earlier step"))
        }
        Op::Repeat { times: Some(0), .. } => Err("repeats 0 times; expected 1 or more".to_owned()),
        _ => op.call().map_or(Ok(()), check_call),
    }
}

fn check_call(call: Call) -> Result<(), String> {
    match call {
        Call::Timer { period_ns: 0, .. } => Err("the timer's period is 0; expected more than 0".to_owned()),
        Call::Nice(nice) if !(-20..=19).contains(&nice) => Err(format!("nice is {nice}; expected -20 to 19")),
        // The minimum or maximum that is not given is the task's of that moment.
        Call::Uclamp { min: Some(min), max: Some(max) } => super::check_uclamp(Some(min), Some(max)),
        Call::Uclamp { min, max } if min.max(max).is_some_and(|clamp| clamp > 1024) => {
            Err("the clamp is above 1024; expected 0 to 1024".to_owned())
        }
        Call::Realtime(realtime) => super::check_policy(realtime),
        Call::RecvBatch { room: 0, .. } => Err("waits for room of 0 messages; expected 1 or more".to_owned()),
        _ => Ok(()),
    }
}

/// Checks that what kworkers do ends, queues nothing that leads back to it, and is nothing that kworkers cannot do.
pub(super) fn check_work(programs: &[Program]) -> Result<(), WorkloadError> {
    let queued = |op: &Op| match op.call() {
        Some(Call::QueueWork { program, .. }) => Some(program as usize),
        _ => None,
    };
    for (own, program) in programs.iter().enumerate() {
        // A program may queue the same work at many steps.
        let mut seen = BTreeSet::new();
        for (step, op) in program.ops.iter().enumerate() {
            let Some(child) = queued(op).filter(|&child| seen.insert(child)) else { continue };
            for (at, op) in programs[child].ops.iter().enumerate() {
                if let Some(what) = not_of_a_kworker(op) {
                    return Err(WrongStep::new(at, what).in_program(&programs[child]));
                }
            }
            if super::reached(programs, [child])[own] {
                let what =
                    format!("queues {}, which leads back to this program: the work never ends", programs[child].name);
                let what = what + "; expected work that ends";
                return Err(WrongStep::new(step, what).in_program(program));
            }
        }
    }
    Ok(())
}

fn not_of_a_kworker(op: &Op) -> Option<&'static str> {
    match op {
        Op::Repeat { times: None, .. } => Some("repeats for ever in a kworker; expected a limited number of times"),
        Op::Fork { .. } | Op::Wait => Some("forks or waits for children in a kworker, which cannot; remove it"),
        Op::Call(Call::Barrier { .. } | Call::Ask { .. } | Call::Await { .. } | Call::Timer { .. }) => {
            Some("needs a task of its own, but runs in a kworker; expected no barrier, list or timer")
        }
        Op::Call(
            Call::Exec
            | Call::Affinity { .. }
            | Call::Realtime(_)
            | Call::IdlePolicy(_)
            | Call::Nice(_)
            | Call::Slice { .. }
            | Call::Uclamp { .. },
        ) => Some("changes how a kworker is scheduled; remove it from the work of kworkers"),
        _ => None,
    }
}

/// Checks that a transaction begins before it is done. Steps are first reached in their order, because only `Repeat`
/// jumps, and it jumps back.
fn transactions(program: &Program) -> Result<(), WrongStep> {
    let first = |is: fn(&Op) -> bool| program.ops.iter().position(is);
    // A task that is taken off a list begins one.
    let begins = |op: &Op| *op == Op::Begin || matches!(op.call(), Some(Call::Ask { .. }));
    match (first(begins), first(|op| *op == Op::Done)) {
        (None, Some(done)) => {
            Err(WrongStep::new(done, "is \"done\", but there is no \"begin\"; expected one before it"))
        }
        (Some(begin), Some(done)) if begin > done => {
            let what = format!("is \"done\", but the first \"begin\" is step {begin}; expected one before it");
            Err(WrongStep::new(done, what))
        }
        _ => Ok(()),
    }
}

/// Checks that a program unlocks only mutexes that it holds, locks only others, holds the same at the end of a loop as
/// at its beginning, and nothing at its own end. This is known without running, because each step is always reached
/// with the same mutexes held.
pub(super) fn check_locks(program: &Program, name: &dyn Fn(u32) -> String) -> Result<(), WrongStep> {
    let mut held = BTreeSet::new();
    for (step, op) in program.ops.iter().enumerate() {
        let wrong = |what: String| Err(WrongStep::new(step, what));
        match (*op, op.call()) {
            (_, Some(Call::Lock { mutex })) if !held.insert(mutex) => {
                return wrong(format!("locks {}, which it already holds: it would wait for itself", name(mutex)));
            }
            (_, Some(Call::Unlock { mutex })) if !held.remove(&mutex) => {
                return wrong(format!("unlocks {}, which it does not hold; lock it first", name(mutex)));
            }
            (_, Some(Call::CondWait { cond, mutex })) if !held.contains(&mutex) => {
                return wrong(format!(
                    "waits for {} with {}, which it does not hold; lock it first",
                    name(cond),
                    name(mutex)
                ));
            }
            (Op::Repeat { to, times }, _) => {
                if let Some(differs) = changed(&program.ops[to as usize..step]) {
                    let (now, then) = if held.contains(&differs) { ("", "not ") } else { ("not ", "") };
                    let held = name(differs);
                    let what = format!("goes back to step {to} {now}holding {held}, where it was {then}held");
                    return wrong(what + "; expected the same each time");
                }
                if times.is_none() {
                    return check_end(step, &held, name, op);
                }
            }
            (Op::Exit, _) => return check_end(step, &held, name, op),
            _ => {}
        }
    }
    let last = program.ops.len().saturating_sub(1);
    check_end(last, &held, name, &Op::Exit)
}

/// The lowest mutex that is held after these steps and was not before them, or the other way round.
fn changed(steps: &[Op]) -> Option<u32> {
    let mut changed = BTreeSet::new();
    for op in steps {
        if let Some(Call::Lock { mutex } | Call::Unlock { mutex }) = op.call()
            && !changed.remove(&mutex)
        {
            changed.insert(mutex);
        }
    }
    changed.first().copied()
}

fn check_end(step: usize, held: &BTreeSet<u32>, name: &dyn Fn(u32) -> String, op: &Op) -> Result<(), WrongStep> {
    match (op, held.first()) {
        (Op::Exit, Some(&mutex)) => {
            let what = format!("ends the task while it holds {}; unlock it first", name(mutex));
            Err(WrongStep::new(step, what))
        }
        _ => Ok(()),
    }
}
