//! Utilisation clamps of a task that a side sets: `uclamp_min:RenderThread=512`.

use std::fmt;

/// A request of a task for a utilisation clamp, as `sched_setattr()` makes it before the task starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TaskClamp {
    /// The name of a task of the workload, or of several tasks without the numbers behind it.
    pub task: String,
    /// Whether it is the maximum (`sched_util_max`), or the minimum (`sched_util_min`).
    pub max: bool,
    /// The value, 0 to 1024.
    pub value: u32,
}

/// Why it cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskClampError {
    /// No task is named.
    #[error("{0} names no task; expected {0}:NAME=VALUE, such as {0}:RenderThread=512")]
    Nobody(&'static str),
    /// The value is none.
    #[error("{clamp}={given}: expected a number from 0 to 1024")]
    Value {
        /// Whose, and which.
        clamp: String,
        /// The text that was given.
        given: String,
    },
}

const NAMES: [(&str, bool); 2] = [("uclamp_min", false), ("uclamp_max", true)];

impl TaskClamp {
    /// `uclamp_min:NAME` or `uclamp_max:NAME`, and the value; `None` if it is another word.
    pub fn read(name: &str, value: &str) -> Option<Result<Self, TaskClampError>> {
        let (which, task) = name.split_once(':').unwrap_or((name, ""));
        let &(which, max) = NAMES.iter().find(|(known, _)| *known == which)?;
        if task.is_empty() {
            return Some(Err(TaskClampError::Nobody(which)));
        }
        let number = value.parse().ok().filter(|number| *number <= 1024);
        Some(match number {
            Some(value) => Ok(TaskClamp { task: task.to_owned(), max, value }),
            None => Err(TaskClampError::Value { clamp: name.to_owned(), given: value.to_owned() }),
        })
    }

    /// Returns whether it applies to the task of this name: `worker` applies to `worker` and to `worker 3`.
    pub fn is_for(&self, name: &str) -> bool {
        let Some(rest) = name.strip_prefix(self.task.as_str()) else { return false };
        let number = rest.strip_prefix(' ').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        rest.is_empty() || number
    }
}

impl fmt::Display for TaskClamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}={}", NAMES[usize::from(self.max)].0, self.task, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clamp_is_for_tasks_of_its_name_and_those_with_numbers() {
        let clamp = TaskClamp::read("uclamp_max:worker", "200").unwrap().unwrap();
        assert_eq!(clamp.to_string(), "uclamp_max:worker=200");
        let whose = ["worker", "worker 3", "worker 12", "worker b", "workers", "worker ", "a worker"];
        assert_eq!(whose.map(|name| clamp.is_for(name)), [true, true, true, false, false, false, false]);
    }

    #[test]
    fn values_and_names_are_checked() {
        let error = |name, value| TaskClamp::read(name, value).unwrap().unwrap_err().to_string();
        assert_eq!(error("uclamp_min:a", "1025"), "uclamp_min:a=1025: expected a number from 0 to 1024");
        assert_eq!(error("uclamp_min:a", "-1"), "uclamp_min:a=-1: expected a number from 0 to 1024");
        assert!(error("uclamp_min", "5").starts_with("uclamp_min names no task"));
        assert_eq!(TaskClamp::read("sched_util_clamp_min", "5"), None);
    }
}
