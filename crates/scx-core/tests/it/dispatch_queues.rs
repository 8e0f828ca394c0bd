//! The scheduler's queues and their iterators against lists with cursors in them, as the kernel has them.

use crate::support::{Script, message, with_tasks};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use wakelab_kernel::ExtRules;
use wakelab_sched::runqueue::TaskId;
use wakelab_scx_core::ext::{DsqIter, Ext};
use wakelab_scx_core::flags::*;
use wakelab_scx_core::ops::{Call, Op, TaskFields};

const TASKS: u32 = 12;
/// One queue is a FIFO, and one by vtime.
const FIFO: u64 = 1;
const PRIQ: u64 = 2;
/// Half of them around where they wrap.
const VTIMES: [u64; 8] = [0, 1, 2, 5, u64::MAX, u64::MAX - 3, 1 << 62, (1 << 62) - 1];

#[derive(Clone, Debug)]
enum Step {
    Insert { p: u32, priq: bool, head: bool, vtime: usize },
    Sleep { p: u32 },
    New { iter: usize, priq: bool, reverse: bool },
    Next { iter: usize },
    Move { iter: usize, p: u32, to_priq: bool, head: bool, vtime: Option<usize>, slice: Option<u64> },
}

fn step() -> impl Strategy<Value = Step> {
    let p = || 0..TASKS;
    let vtime = || 0..VTIMES.len();
    prop_oneof![
        6 => (p(), any::<bool>(), any::<bool>(), vtime())
            .prop_map(|(p, priq, head, vtime)| Step::Insert { p, priq, head, vtime }),
        2 => p().prop_map(|p| Step::Sleep { p }),
        1 => (0usize..3, any::<bool>(), any::<bool>())
            .prop_map(|(iter, priq, reverse)| Step::New { iter, priq, reverse }),
        5 => (0usize..3).prop_map(|iter| Step::Next { iter }),
        3 => (0usize..3, p(), any::<bool>(), any::<bool>(), prop::option::of(vtime()), prop::option::of(1u64..9))
            .prop_map(|(iter, p, to_priq, head, vtime, slice)| Step::Move { iter, p, to_priq, head, vtime, slice }),
    ]
}

/// What is linked in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Task(u32),
    Cursor(usize),
}

#[derive(Clone, Copy, Debug)]
struct Cursor {
    queue: usize,
    reverse: bool,
    seq: u64,
}

/// Two lists, and what tasks have.
#[derive(Default)]
struct Model {
    lists: [Vec<Node>; 2],
    seq: [u64; 2],
    task_seq: [u64; TASKS as usize],
    vtime: [u64; TASKS as usize],
    cursors: [Option<Cursor>; 3],
}

impl Model {
    fn queue_of(&self, p: u32) -> Option<usize> {
        (0..2).find(|&queue| self.lists[queue].contains(&Node::Task(p)))
    }

    fn insert(&mut self, queue: usize, p: u32, head: bool) {
        let list = &mut self.lists[queue];
        let at = if queue == 1 {
            // After the last task that is not later: cursors stay behind what they are behind.
            let vtime = self.vtime[p as usize];
            let not_later = |node: &Node| match *node {
                Node::Task(other) => (vtime.wrapping_sub(self.vtime[other as usize]) as i64) >= 0,
                Node::Cursor(_) => false,
            };
            list.iter().rposition(not_later).map_or(0, |at| at + 1)
        } else if head {
            0
        } else {
            list.len()
        };
        list.insert(at, Node::Task(p));
        self.seq[queue] += 1;
        self.task_seq[p as usize] = self.seq[queue];
    }

    fn remove(&mut self, node: Node) {
        self.lists.iter_mut().for_each(|list| list.retain(|&other| other != node));
    }

    /// `nldsq_cursor_next_task()`.
    fn next(&mut self, iter: usize) -> Option<u32> {
        let Cursor { queue, reverse, seq } = self.cursors[iter]?;
        let mut list: Vec<Node> = self.lists[queue].clone();
        if reverse {
            list.reverse();
        }
        let from = list.iter().position(|&node| node == Node::Cursor(iter)).map_or(0, |at| at + 1);
        let next = list[from..].iter().find_map(|&node| match node {
            Node::Task(p) if self.task_seq[p as usize] <= seq => Some(p),
            _ => None,
        });
        self.remove(Node::Cursor(iter));
        if let Some(p) = next {
            let list = &mut self.lists[queue];
            let at = list.iter().position(|&node| node == Node::Task(p)).expect("it is there");
            list.insert(if reverse { at } else { at + 1 }, Node::Cursor(iter));
        }
        next
    }

    fn tasks(&self, queue: usize) -> Vec<u32> {
        let task = |node: &Node| if let Node::Task(p) = *node { Some(p) } else { None };
        self.lists[queue].iter().filter_map(task).collect()
    }
}

/// The tasks of a queue, as a new iterator shows them.
fn tasks(ext: &Ext, dsq: u64) -> Vec<u32> {
    let mut iter = ext.dsq_iter(dsq, false).expect("a queue");
    std::iter::from_fn(|| ext.dsq_iter_next(&mut iter).map(|p| p.0)).collect()
}

fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let (mut ext, mut ops): (Ext, Script) = with_tasks(ExtRules::V7_2, &[Op::Enqueue], 0, TASKS);
    [FIFO, PRIQ].into_iter().for_each(|dsq| {
        ext.create_dsq(dsq);
    });
    let inserts = Rc::new(RefCell::new((FIFO, None, 0)));
    let asked = inserts.clone();
    ops.does(move |ops, ext, call| {
        if let Call::Enqueue { p, .. } = call {
            let (dsq, vtime, flags) = *asked.borrow();
            ext.dsq_insert(ops, p, dsq, 5, vtime, flags);
        }
        0
    });
    let head_flag = u64::from(ExtRules::V7_2.enq_head);
    let flag = |head: bool| if head { head_flag } else { 0 };
    let mut model = Model::default();
    let mut iters: [Option<DsqIter>; 3] = [None; 3];
    for step in steps {
        match *step {
            Step::Insert { p, priq, head, vtime } => {
                if model.queue_of(p).is_some() {
                    continue;
                }
                let (dsq, vtime) = if priq { (PRIQ, Some(VTIMES[vtime])) } else { (FIFO, None) };
                *inserts.borrow_mut() = (dsq, vtime, flag(head && !priq));
                ext.enqueue_task(&mut ops, 0, TaskId(p), SCX_ENQ_WAKEUP);
                vtime.into_iter().for_each(|vtime| model.vtime[p as usize] = vtime);
                model.insert(usize::from(priq), p, head && !priq);
            }
            Step::Sleep { p } => {
                ext.dequeue_task(&mut ops, 0, TaskId(p), SCX_DEQ_SLEEP);
                model.remove(Node::Task(p));
            }
            Step::New { iter, priq, reverse } => {
                iters[iter] = ext.dsq_iter(if priq { PRIQ } else { FIFO }, reverse);
                model.remove(Node::Cursor(iter));
                let queue = usize::from(priq);
                model.cursors[iter] = Some(Cursor { queue, reverse, seq: model.seq[queue] });
            }
            Step::Next { iter } => {
                let next = iters[iter].as_mut().and_then(|iter| ext.dsq_iter_next(iter)).map(|p| p.0);
                prop_assert_eq!(next, model.next(iter), "{:?}", step);
            }
            Step::Move { iter, p, to_priq, head, vtime, slice } => {
                let (Some(kit), Some(cursor)) = (&mut iters[iter], model.cursors[iter]) else { continue };
                let vtime = vtime.map(|at| VTIMES[at]);
                (kit.slice, kit.vtime) = (slice, vtime);
                let dsq = if to_priq { PRIQ } else { FIFO };
                let before = ops.slice(TaskId(p));
                let moved = ext.dsq_move(&mut ops, kit, TaskId(p), dsq, flag(head && !to_priq), to_priq);
                let may = model.queue_of(p) == Some(cursor.queue) && model.task_seq[p as usize] <= cursor.seq;
                prop_assert_eq!(moved, may);
                prop_assert_eq!((kit.slice, kit.vtime), (None, None));
                prop_assert_eq!(ops.slice(TaskId(p)), slice.filter(|_| may).unwrap_or(before));
                if may {
                    model.remove(Node::Task(p));
                    vtime.into_iter().for_each(|vtime| model.vtime[p as usize] = vtime);
                    model.insert(usize::from(to_priq), p, head && !to_priq);
                }
            }
        }
        for (queue, dsq) in [FIFO, PRIQ].into_iter().enumerate() {
            let expected = model.tasks(queue);
            prop_assert_eq!(tasks(&ext, dsq), expected.clone(), "{:?}", step);
            prop_assert_eq!(ext.dsq_nr_queued(dsq), expected.len() as i64);
            prop_assert_eq!(ext.dsq_peek(dsq).map(|p| p.0), expected.first().copied());
        }
        prop_assert_eq!(message(&ext), "");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn queues_and_iterators_are_those_of_lists(steps in prop::collection::vec(step(), 1..60)) {
        check(&steps)?;
    }
}

#[test]
fn only_queues_of_the_scheduler_can_be_walked() {
    let (ext, _) = with_tasks(ExtRules::V7_2, &[], 0, 0);
    for dsq in [SCX_DSQ_LOCAL, SCX_DSQ_LOCAL_ON | 1, SCX_DSQ_GLOBAL, FIFO] {
        assert!(ext.dsq_iter(dsq, false).is_none());
    }
}

#[test]
fn a_move_by_vtime_to_a_local_queue_is_an_error_only_where_the_task_changes_its_cpu() {
    for rules in crate::support::KERNELS {
        for (to, task_cpu) in [(1, 1), (1, 0)] {
            let (mut ext, mut ops) = with_tasks(rules, &[Op::Enqueue], 0, 1);
            ext.create_dsq(FIFO);
            ops.does(|ops, ext, call| {
                let Call::Enqueue { p, .. } = call else { return 0 };
                i64::from(ext.dsq_insert(ops, p, FIFO, 5, None, 0))
            });
            ext.enqueue_task(&mut ops, task_cpu, TaskId(0), SCX_ENQ_WAKEUP);
            let mut iter = ext.dsq_iter(FIFO, false).expect("a queue");
            assert!(ext.dsq_move(&mut ops, &mut iter, TaskId(0), SCX_DSQ_LOCAL_ON | to, 0, true));
            assert_eq!(ext.rqs[1].local_dsq.nr(), 1);
            // 6.12 loses the flag on the way.
            let fails = task_cpu != 1 && !rules.enq_flags_truncated;
            assert_eq!(message(&ext), if fails { "cannot use vtime ordering for built-in DSQs" } else { "" });
        }
    }
}
