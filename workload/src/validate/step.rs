//! A program's steps: numbers in their ranges, and transactions that begin before they are done.

use super::WrongStep;
use crate::{Call, Op, Program};

/// Checks the steps of a program, of `programs` that there are.
pub(super) fn check(program: &Program, programs: usize) -> Result<(), WrongStep> {
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
        | Op::Call(Call::Io(work) | Call::Spin { hold: work, .. })
            if work.jitter_pct > 100 =>
        {
            Err(format!("a jitter of {}%; expected 0 to 100", work.jitter_pct))
        }
        Op::Fork { program } if program as usize >= programs => Err(format!("forks program {program}, of {programs}")),
        Op::Repeat { to, .. } if to as usize >= step => {
            Err(format!("goes back to step {to}; expected an earlier step"))
        }
        Op::Repeat { times: Some(0), .. } => Err("repeats 0 times; expected 1 or more".to_owned()),
        _ => op.call().map_or(Ok(()), check_call),
    }
}

fn check_call(call: Call) -> Result<(), String> {
    match call {
        Call::Timer { period_ns: 0, .. } => Err("a timer with a period of 0; expected more than 0".to_owned()),
        Call::Nice(nice) if !(-20..=19).contains(&nice) => Err(format!("nice is {nice}; expected -20 to 19")),
        Call::RecvBatch { room: 0, .. } => Err("waits for room of 0 messages; expected 1 or more".to_owned()),
        _ => Ok(()),
    }
}

/// Steps are first come to in their order, since only `Repeat` goes elsewhere, and back.
fn transactions(program: &Program) -> Result<(), WrongStep> {
    let first = |is: fn(&Op) -> bool| program.ops.iter().position(is);
    // Who is taken off a list begins one.
    let begins = |op: &Op| *op == Op::Begin || matches!(op.call(), Some(Call::Ask { .. }));
    match (first(begins), first(|op| *op == Op::Done)) {
        (None, Some(done)) => {
            Err(WrongStep::new(done, "is \"done\" and there is no \"begin\"; expected one before it"))
        }
        (Some(begin), Some(done)) if begin > done => {
            let what = format!("is \"done\" before the first \"begin\", which is step {begin}; expected one before it");
            Err(WrongStep::new(done, what))
        }
        _ => Ok(()),
    }
}
