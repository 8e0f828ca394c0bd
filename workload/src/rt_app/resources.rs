//! Mutexes, conditions and barriers, made where a thread names one. A condition and a mutex may have the same name.

use super::cx::{Cx, Place};
use super::event::Event;
use super::thread::Thread;
use crate::Kind;
use crate::error::WorkloadError;

/// A mutex, condition or barrier.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    kind: Kind,
    name: String,
    /// Where it is named first.
    pub(super) place: Place,
    /// How many threads meet there, of a barrier; else 1.
    pub(super) capacity: u32,
}

impl Resource {
    /// What messages call it.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.kind.name(), self.name)
    }
}

/// All resources of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Resources(pub(super) Vec<Resource>);

impl Resources {
    /// The number of the resource of that kind and name.
    pub(super) fn number(&mut self, kind: Kind, name: &str, place: &Place) -> u32 {
        let known = self.0.iter().position(|resource| resource.kind == kind && resource.name == name);
        let index = known.unwrap_or_else(|| {
            self.0.push(Resource { kind, name: name.to_owned(), place: place.clone(), capacity: 1 });
            self.0.len() - 1
        });
        index as u32
    }

    /// All barriers, with how many threads meet there: those that name it, each of which may do so once.
    pub(super) fn barriers(cx: &Cx<'_>, threads: &[Thread]) -> Result<Self, WorkloadError> {
        let (mut all, mut meet) = (Resources::default(), vec![]);
        for thread in threads {
            let mut mine: Vec<(u32, usize)> = vec![];
            for step in thread.steps() {
                let Event::Barrier(name) = &step.event else { continue };
                let number = all.number(Kind::Barrier, name, &step.place);
                if let Some((_, line)) = mine.iter().find(|(known, _)| *known == number) {
                    let what = format!("the thread meets others here already in line {line}");
                    let hint = "rt-app counts each use as one more thread that is to come; give each meeting a name \
                                of its own";
                    return Err(step
                        .place
                        .error(cx.path, what + "; expected another barrier")
                        .with_hint(Some(hint.into())));
                }
                mine.push((number, step.place.line));
            }
            for (number, _) in mine {
                meet.resize(all.0.len(), 0);
                meet[number as usize] += thread.instances;
            }
        }
        // One that only forked threads have meets nobody, and is refused for that.
        all.0.iter_mut().zip(meet).for_each(|(barrier, meet)| barrier.capacity = meet.max(1));
        Ok(all)
    }
}
