//! The [`Sink`] that writes every event of a run.

use super::captured::lowest_cpus;
use super::decision_inputs::DecisionInputs;
use super::folder::{EventFolder, RunInfo};
use super::policy;
use super::schema::*;
use super::wakeups::{Wakeups, Woken};
use crate::error::WriteError;
use crate::folder::Folder;
use crate::sim::{Event, Inputs, NewGroup, NewTask, Queued, Sink};
use crate::table::writer::TableFile;
use crate::task_groups::{GroupMemberRow, GroupMembers, TaskGroupRow, TaskGroups, cpu_words};
use std::sync::Arc;
use tempfile::TempDir;
use wakelab_sched::cpumask::Cpu;
use wakelab_sched::select::View;

/// Writes a run. If it is dropped before it is finished, nothing of the run is left.
pub struct Recorder<'f> {
    wakeups: TableFile<Wakeups>,
    enqueues: TableFile<Enqueues>,
    switches: TableFile<Switches>,
    migrations: TableFile<Migrations>,
    balance: TableFile<Balance>,
    idle: TableFile<Idle>,
    idle_states: TableFile<IdleStates>,
    frequencies: TableFile<Frequencies>,
    power: TableFile<Power>,
    available: TableFile<Available>,
    hints: TableFile<Hints>,
    transactions: TableFile<Transactions>,
    tasks: TableFile<Tasks>,
    /// Only runs with control groups have these tables.
    groups: Option<(TableFile<TaskGroups>, TableFile<GroupMembers>)>,
    /// Only runs under a scheduler of sched_ext have this table.
    scx: Option<TableFile<Scx>>,
    /// By waking CPU: the inputs of its pending wake-up.
    pending_wakeups: Vec<DecisionInputs>,
    /// The inputs of a fork or exec. It is decided at one moment, which may be during a wake-up of the same CPU.
    placement: DecisionInputs,
    /// The lowest CPU of each LLC.
    llcs: Vec<Cpu>,
    error: Option<WriteError>,
    /// The folder and the metadata with which a file is begun.
    new_files: (Arc<Folder>, Vec<(&'static str, String)>),
    // The files above are closed before their folder is removed.
    temporary: TempDir,
    parts: [String; 5],
    folder: &'f EventFolder,
}

impl<'f> Recorder<'f> {
    pub(super) fn new(folder: &'f EventFolder, run: &RunInfo<'_>) -> Result<Self, WriteError> {
        let temporary = folder.temporary()?;
        let new_files = (Arc::new(Folder::open(temporary.path())?), run.metadata());
        let (at, metadata) = (&new_files.0, &new_files.1);
        Ok(Recorder {
            wakeups: TableFile::new(at, metadata)?,
            enqueues: TableFile::new(at, metadata)?,
            switches: TableFile::new(at, metadata)?,
            migrations: TableFile::new(at, metadata)?,
            balance: TableFile::new(at, metadata)?,
            idle: TableFile::new(at, metadata)?,
            idle_states: TableFile::new(at, metadata)?,
            frequencies: TableFile::new(at, metadata)?,
            power: TableFile::new(at, metadata)?,
            available: TableFile::new(at, metadata)?,
            hints: TableFile::new(at, metadata)?,
            transactions: TableFile::new(at, metadata)?,
            tasks: TableFile::new(at, metadata)?,
            groups: None,
            scx: None,
            placement: DecisionInputs::default(),
            pending_wakeups: vec![DecisionInputs::default(); run.topology.cpus.len()],
            llcs: Vec::new(),
            error: None,
            new_files,
            temporary,
            parts: run.folders(),
            folder,
        })
    }

    /// Ends the run: renames the files and the folder.
    ///
    /// # Errors
    /// Returns the first error of writing. Nothing of the run is left then.
    pub fn finish(self) -> Result<(), WriteError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.wakeups.finish()?;
        self.enqueues.finish()?;
        self.switches.finish()?;
        self.migrations.finish()?;
        self.balance.finish()?;
        self.idle.finish()?;
        self.idle_states.finish()?;
        self.frequencies.finish()?;
        self.power.finish()?;
        self.available.finish()?;
        self.hints.finish()?;
        self.transactions.finish()?;
        self.tasks.finish()?;
        if let Some((groups, members)) = self.groups {
            groups.finish()?;
            members.finish()?;
        }
        if let Some(scx) = self.scx {
            scx.finish()?;
        }
        self.folder.keep(self.temporary, &self.parts)
    }

    /// The first error of writing. Later events are lost.
    pub fn error(&self) -> Option<&WriteError> {
        self.error.as_ref()
    }

    /// Sets the inputs of the wake-up, fork or exec whose event is written next.
    pub(super) fn put_inputs(&mut self, event: &Event, inputs: DecisionInputs) {
        match *event {
            Event::Wakeup { waker_cpu, .. } => self.pending_wakeups[waker_cpu as usize] = inputs,
            _ => self.placement = inputs,
        }
    }

    #[inline]
    fn keep_error(&mut self, written: Result<(), WriteError>) {
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    fn write_group(&mut self, t_ns: i64, group: &NewGroup<'_>) -> Result<(), WriteError> {
        let files = match &mut self.groups {
            Some(files) => files,
            none => {
                let (folder, metadata) = &self.new_files;
                none.insert((TableFile::new(folder, metadata)?, TableFile::new(folder, metadata)?))
            }
        };
        let ns = |at: usize| group.max.map(|max| max[at] as i64);
        let cpus = group.cpus.map(cpu_words);
        files.0.push(TaskGroupRow {
            t_ns,
            group: group.group.into(),
            parent: group.parent.into(),
            path: group.name,
            weight: group.weight as i32,
            idle: group.idle,
            quota_ns: ns(0),
            period_ns: ns(1),
            burst_ns: ns(2),
            uclamp_min: group.uclamp[0].map(|value| value as i32),
            uclamp_max: group.uclamp[1].map(|value| value as i32),
            cpus: cpus.as_deref(),
        })
    }

    fn write_scx(&mut self, row: ScxRow<'_>) -> Result<(), WriteError> {
        let file = match &mut self.scx {
            Some(file) => file,
            none => none.insert(TableFile::new(&self.new_files.0, &self.new_files.1)?),
        };
        file.push(row)
    }

    #[inline]
    fn write(&mut self, t_ns: i64, event: &Event) -> Result<(), WriteError> {
        let int = |n: u32| n as i32;
        match *event {
            Event::Fork { .. } | Event::LockWait { .. } => Ok(()),
            Event::Wakeup {
                waker_cpu,
                waker,
                wakee,
                prev_cpu,
                ref decision,
                cpu,
                queued,
                began,
                scan_began,
                scan_ended,
                claimed,
                workload,
            } => {
                let woken = Woken { waker_cpu, waker, wakee, prev_cpu, cpu, queued, claimed, workload };
                let scan_times = (scan_began, scan_ended);
                let inputs = &mut self.pending_wakeups[waker_cpu as usize];
                woken.write(&mut self.wakeups, (began, t_ns), scan_times, decision.as_ref(), inputs)
            }
            Event::Placed { waker_cpu, waker, task, prev_cpu, ref decision, cpu, workload } => {
                let (queued, claimed) = (Queued::Direct, false);
                let woken = Woken { waker_cpu, waker, wakee: task, prev_cpu, cpu, queued, claimed, workload };
                let inputs = &mut self.placement;
                woken.write(&mut self.wakeups, (t_ns as u64, t_ns), (None, None), decision.as_ref(), inputs)
            }
            Event::Enqueue { cpu, task } => self.enqueues.push(EnqueueRow { t_ns, cpu: int(cpu), pid: int(task) }),
            Event::Switch { cpu, prev, prev_sleeps, next } => self.switches.push(SwitchRow {
                t_ns,
                cpu: int(cpu),
                prev_pid: prev.map(int),
                prev_sleeps,
                next_pid: next.map(int),
            }),
            Event::Migrate { task, from, to } => {
                self.migrations.push(MigrationRow { t_ns, pid: int(task), from_cpu: int(from), to_cpu: int(to) })
            }
            Event::Balance { cpu, level, idle, outcome, busiest, imbalance, moved, active, nr_rqs } => {
                self.balance.push(BalanceRow {
                    t_ns,
                    cpu: int(cpu),
                    level: int(level),
                    idle,
                    outcome,
                    busiest_cpu: busiest.map(int),
                    migration_type: imbalance.map(|imbalance| imbalance.migration_type),
                    imbalance: imbalance.map(|imbalance| imbalance.amount),
                    nr_moved: int(moved),
                    active_balance: active,
                    nr_rqs: int(nr_rqs),
                })
            }
            Event::Idle { cpu, entered } => self.idle.push(IdleRow { t_ns, cpu: int(cpu), entered }),
            Event::IdleState { cpu, state } => {
                self.idle_states.push(IdleStateRow { t_ns, cpu: int(cpu), state: int(state) })
            }
            Event::Frequency { cpu, khz } => {
                self.frequencies.push(FrequencyRow { t_ns, cpu: int(cpu), khz: i64::from(khz) })
            }
            Event::Power { package, since, uw } => {
                self.power.push(PowerRow { t_ns: since as i64, package: int(package), mean_uw: uw as i64 })
            }
            Event::Available { cpu, available, sched_idle } => {
                self.available.push(AvailableRow { t_ns, cpu: int(cpu), available, sched_idle })
            }
            Event::IdleCores { llc, has_idle_cores } => self.hints.push(HintRow {
                t_ns,
                llc_cpu: int(llc),
                hint: Hint::HasIdleCores,
                value: Some(i32::from(has_idle_cores)),
                sum_util: None,
                llc_weight: None,
            }),
            Event::IdleScan { llc, sum_util, weight, nr_idle_scan } => self.hints.push(HintRow {
                t_ns,
                llc_cpu: int(llc),
                hint: Hint::NrIdleScan,
                value: nr_idle_scan,
                sum_util: Some(sum_util as i64),
                llc_weight: Some(int(weight)),
            }),
            Event::Done { task, latency } => {
                self.transactions.push(TransactionRow { t_ns, pid: int(task), latency_ns: latency as i64 })
            }
            Event::Scx { task, cpu, step, op, dsq, queued, to_cpu } => {
                let dsq = dsq.map(|dsq| dsq.to_string());
                self.write_scx(ScxRow {
                    t_ns,
                    cpu: int(cpu),
                    pid: int(task),
                    step,
                    op: op.unwrap_or(""),
                    dsq: dsq.as_deref().unwrap_or(""),
                    nr_queued: queued.map(int),
                    to_cpu: to_cpu.map(int),
                })
            }
            // No table has slack: a comparison counts it while it runs.
            Event::Period { .. } => Ok(()),
            Event::Exit { task } => self.tasks.push(TaskRow {
                t_ns,
                what: Life::Exits,
                pid: int(task),
                parent_pid: None,
                comm: "",
                background: None,
                nice: None,
                policy: None,
                affinity: None,
            }),
        }
    }
}

impl Sink for Recorder<'_> {
    const ON: bool = true;
    const INPUTS: bool = true;

    #[inline]
    fn event(&mut self, time: u64, event: &Event) {
        let written = self.write(time as i64, event);
        self.keep_error(written);
    }

    fn group(&mut self, time: u64, group: &NewGroup<'_>) {
        let written = self.write_group(time as i64, group);
        self.keep_error(written);
    }

    fn task(&mut self, time: u64, task: &NewTask<'_>) {
        if let Some((_, members)) = &mut self.groups {
            let (t_ns, pid) = (time as i64, task.task as i32);
            let written = members.push(GroupMemberRow { t_ns, pid, group: task.group.into() });
            self.keep_error(written);
        }
        let written = self.tasks.push(TaskRow {
            t_ns: time as i64,
            what: Life::Begins,
            pid: task.task as i32,
            parent_pid: task.parent.map(|parent| parent as i32),
            comm: task.name,
            background: Some(!task.workload),
            nice: Some(i32::from(task.nice)),
            policy: Some(policy(task.idle_policy)),
            affinity: Some(task.affinity.words()),
        });
        self.keep_error(written);
    }

    #[inline]
    fn inputs<V: View>(&mut self, time: u64, inputs: &Inputs<'_, V>) {
        if self.llcs.is_empty() {
            self.llcs = lowest_cpus(inputs.rules.domains);
        }
        let pending = match inputs.probe {
            Some(_) => &mut self.pending_wakeups[inputs.wakeup.waker.cpu as usize],
            None => &mut self.placement,
        };
        pending.fill(time, &self.llcs, inputs);
    }

    fn gave_up(&self) -> bool {
        self.error.is_some()
    }
}
