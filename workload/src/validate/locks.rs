//! Who holds a mutex: where each step is come to with the same mutexes held, that can be said without running.

use super::WrongStep;
use crate::{Call, Op, Program};
use std::collections::BTreeSet;

/// Checks that a program unlocks what it holds, locks what it does not, holds at the end of a loop what it held at its
/// beginning, and nothing at its own end.
pub(super) fn check(program: &Program, name: &dyn Fn(u32) -> String) -> Result<(), WrongStep> {
    let mut held = BTreeSet::new();
    // What is held as a step begins.
    let mut before: Vec<BTreeSet<u32>> = Vec::new();
    for (step, op) in program.ops.iter().enumerate() {
        before.push(held.clone());
        let wrong = |what: String| Err(WrongStep::new(step, what));
        match (*op, op.call()) {
            (_, Some(Call::Lock { mutex })) if !held.insert(mutex) => {
                return wrong(format!("locks {}, which it holds already; it would wait for itself", name(mutex)));
            }
            (_, Some(Call::Unlock { mutex })) if !held.remove(&mutex) => {
                return wrong(format!("unlocks {}, which it does not hold; expected a lock before it", name(mutex)));
            }
            (_, Some(Call::CondWait { cond, mutex })) if !held.contains(&mutex) => {
                return wrong(format!(
                    "waits for {} with {}, which it does not hold; expected a lock before it",
                    name(cond),
                    name(mutex)
                ));
            }
            (Op::Repeat { to, .. }, _) if before[to as usize] != held => {
                let differs = *before[to as usize].symmetric_difference(&held).next().expect("they differ");
                let (now, then) = if held.contains(&differs) { ("", "not ") } else { ("not ", "") };
                let what = format!("goes back to step {to} {now}holding {}, where it was {then}held", name(differs));
                return wrong(what + "; expected the same each time");
            }
            (Op::Exit | Op::Repeat { times: None, .. }, _) => return check_end(step, &held, name, op),
            _ => {}
        }
    }
    let last = program.ops.len().saturating_sub(1);
    check_end(last, &held, name, &Op::Exit)
}

fn check_end(step: usize, held: &BTreeSet<u32>, name: &dyn Fn(u32) -> String, op: &Op) -> Result<(), WrongStep> {
    match (op, held.first()) {
        (Op::Exit, Some(&mutex)) => {
            let what = format!("ends the task, which holds {}; expected an unlock before it", name(mutex));
            Err(WrongStep::new(step, what))
        }
        _ => Ok(()),
    }
}
