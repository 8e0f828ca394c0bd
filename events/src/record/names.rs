//! Columns whose values are a few names.

use super::cell::{Kind, PushNull};
use crate::sim::Queued;
use arrow_array::builder::PrimitiveBuilder;
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray};
use arrow_schema::DataType;
use std::marker::PhantomData;
use std::sync::Arc;
use wakelab_sched::balance::{CpuIdleType, MigrationType, Outcome, Why};
use wakelab_sched::select::{Affine, Reason};

/// What has a name in the schema.
pub trait Named: Copy {
    /// All names.
    fn names() -> Vec<&'static str>;
    /// Which of them this is.
    fn index(self) -> i8;
}

/// A column of names.
pub struct Name<T>(PhantomData<T>);

impl<T: Named> Kind for Name<T> {
    type Value<'a> = T;
    type Column = PrimitiveBuilder<Int8Type>;
    const NULLABLE: bool = false;
    const NAME: &'static str = "name";

    fn data_type() -> DataType {
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))
    }

    #[inline]
    fn push(column: &mut Self::Column, value: T) {
        column.append_value(value.index());
    }

    fn finish(column: &mut Self::Column) -> ArrayRef {
        let names = Arc::new(StringArray::from(T::names()));
        Arc::new(DictionaryArray::new(column.finish(), names))
    }
}

impl<T: Named> PushNull for Name<T> {
    #[inline]
    fn push_null(column: &mut Self::Column) {
        column.append_null();
    }
}

macro_rules! named {
    ($ty:ty { $($variant:pat => $name:literal,)* }) => {
        impl Named for $ty {
            fn names() -> Vec<&'static str> {
                vec![$($name),*]
            }

            #[inline]
            fn index(self) -> i8 {
                let mut index = 0;
                $(if matches!(self, $variant) { return index; } index += 1;)*
                unreachable!("name {index} of {:?}", self)
            }
        }
    };
}

impl Named for Reason {
    fn names() -> Vec<&'static str> {
        let mut all = Reason::ALL;
        all.sort_by_key(|&reason| reason as u8);
        all.map(Reason::name).to_vec()
    }

    #[inline]
    fn index(self) -> i8 {
        self as i8
    }
}

named!(Queued {
    Queued::Direct => "direct",
    Queued::Wakelist => "wakelist",
    Queued::OnCpu => "on-cpu",
    Queued::Delayed => "delayed",
});

named!(Affine {
    Affine::NotAsked => "not-asked",
    Affine::WakerIdle => "waker-idle",
    Affine::BothIdle => "both-idle",
    Affine::Sync => "sync",
    Affine::PrevIdle => "prev-idle",
    Affine::Short => "short",
    Affine::Weight => "weight",
    Affine::Prev => "prev",
});

named!(CpuIdleType {
    CpuIdleType::Idle => "idle",
    CpuIdleType::NotIdle => "not-idle",
    CpuIdleType::NewlyIdle => "newly-idle",
});

named!(MigrationType {
    MigrationType::Load => "load",
    MigrationType::Util => "util",
    MigrationType::Task => "task",
    MigrationType::Misfit => "misfit",
});

named!(Outcome {
    Outcome::Moved => "moved",
    Outcome::Failed => "failed",
    Outcome::OnePinned => "one-pinned",
    Outcome::Balanced(Why::NotOurs) => "not-ours",
    Outcome::Balanced(Why::NoBusiestGroup) => "no-busiest-group",
    Outcome::Balanced(Why::NoBusiestQueue) => "no-busiest-queue",
    Outcome::Balanced(Why::AllPinned) => "all-pinned",
    Outcome::Balanced(Why::Serialized) => "serialized",
});

/// What changed of an LLC.
#[derive(Clone, Copy, Debug)]
pub enum Hint {
    /// `has_idle_cores`.
    HasIdleCores,
    /// `nr_idle_scan`.
    NrIdleScan,
}

named!(Hint {
    Hint::HasIdleCores => "has_idle_cores",
    Hint::NrIdleScan => "nr_idle_scan",
});

/// What became of a task.
#[derive(Clone, Copy, Debug)]
pub enum Life {
    /// It came into the run.
    Begins,
    /// It has exited.
    Exits,
}

named!(Life {
    Life::Begins => "begins",
    Life::Exits => "exits",
});
