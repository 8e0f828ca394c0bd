//! Parameters that several models share: the costs of calls on pipes and sockets, and how much these hold.

use crate::ParamDef;

/// How many messages of a byte a pipe holds: `PIPE_DEF_BUFFERS` pages, which writes of less than a page fill up.
pub(crate) const PIPE_BYTES: u32 = 16 * PAGE;

const PAGE: u32 = 4096;

/// How many messages of so many bytes, a page at most, a pipe holds: a message that does not fit what is left of a page
/// begins the next (`pipe_write()`).
pub(crate) fn pipe_capacity(size: u64) -> u32 {
    16 * (u64::from(PAGE) / size.clamp(1, u64::from(PAGE))) as u32
}

/// How many messages of so many bytes a page of a pipe holds: who waits to write waits until one has been read.
pub(crate) fn pipe_room(size: u64) -> u32 {
    pipe_capacity(size) / 16
}

/// How many messages of so many bytes a Unix stream socket holds. A send goes on while the sender's buffers come to
/// less than `net.core.wmem_default` (212992 by default); each is its data and `skb_shared_info` (320 bytes) in a power
/// of two, and an `sk_buff` (256 bytes).
pub(crate) fn socket_capacity(size: u64) -> u32 {
    WMEM_DEFAULT.div_ceil(truesize(size)) as u32
}

/// How many of them must have been read before who waits to write is woken: what is left is a quarter of the buffer at
/// most (`unix_writable()`, 6.1). Two bytes of `sk_wmem_alloc` are the socket's own and what `sock_wfree()` keeps for
/// the time of the wake-up.
pub(crate) fn socket_room(size: u64) -> u32 {
    socket_capacity(size) - ((WMEM_DEFAULT / 4 - 2) / truesize(size)) as u32
}

const WMEM_DEFAULT: u64 = 212_992;

/// The part of the buffer that a message of `size` bytes takes (`skb->truesize`).
fn truesize(size: u64) -> u64 {
    (size.next_multiple_of(64) + 320).next_power_of_two() + 256
}

const FIT: &str =
    "assumed: not measured, a value for fitting; the range is from a bare call to one with all mitigations";

/// A cost of a system call, ns.
pub(crate) const fn call(name: &'static str, value: u64, low: u64, high: u64) -> ParamDef {
    ParamDef { name, unit: "ns", value, low, high, max: ParamDef::MAX_NS, origin: FIT }
}

/// An option of a benchmark: its plausible range, and the highest value.
pub(crate) const fn option(
    name: &'static str,
    unit: &'static str,
    value: u64,
    [low, high, max]: [u64; 3],
    origin: &'static str,
) -> ParamDef {
    ParamDef { name, unit, value, low, high, max, origin }
}

/// As [`call`], of a call that many tasks make on one object.
const fn shared(name: &'static str, value: u64, low: u64, high: u64) -> ParamDef {
    ParamDef { origin: FIT_SHARED, ..call(name, value, low, high) }
}

const FIT_SHARED: &str = "assumed: fitted to the search statistics of hackbench in the SIS_UTIL posting (28 tasks a \
    group); holds the wait for the socket's queue lock, which the writers of a group share and the model does not have";

/// `write()` of a message to a pipe, the wake-up left out.
pub(crate) const PIPE_WRITE: ParamDef = call("write", 600, 300, 1500);
/// `read()` of a message from a pipe.
pub(crate) const PIPE_READ: ParamDef = call("read", 500, 250, 1300);

const WARM: &str = "assumed: near what a call of 100 bytes takes if the pipe is in the CPU's cache, 374 ns to write \
    and 406 to read (AMD EPYC, guest of 6.18, mitigations on; 217 of them a bare system call)";

/// `write()` to one of the pipes of a group, which many writers share, if the writer's CPU used it last.
pub(crate) const GROUP_PIPE_WRITE: ParamDef = ParamDef { origin: WARM, ..call("write", 450, 300, 900) };
/// `read()` from one of them, likewise.
pub(crate) const GROUP_PIPE_READ: ParamDef = ParamDef { origin: WARM, ..call("read", 520, 300, 900) };
/// The cost of the pipe's own cache lines for a task that uses it after another CPU.
pub(crate) const PIPE_LINES: ParamDef = ParamDef {
    name: "lines",
    unit: "%",
    value: 90,
    low: 30,
    high: 150,
    max: crate::ChannelCosts::MAX_PCT as u64,
    origin: "assumed: of cold_message, the cache lines of pipe_inode_info that another CPU wrote last (mutex, head and \
        tail, buffers, wait queues), 3 to 12 of them; fitted to base sides, with the other numbers of pipes",
};
/// The cost of the cache lines of a message of 100 bytes for its reader, if another CPU wrote it.
pub(crate) const PIPE_MESSAGE_LINES: ParamDef = ParamDef {
    name: "message_lines",
    unit: "%",
    value: 20,
    low: 10,
    high: 60,
    max: crate::ChannelCosts::MAX_PCT as u64,
    origin: "assumed: of cold_message, one or two cache lines of 100 bytes, and of each page its first access; fitted \
        to base sides, with the other numbers of pipes",
};
/// The extra work of `read()` or `write()` if it waits.
pub(crate) const PIPE_WAITED: ParamDef = ParamDef {
    origin: "assumed: prepare_to_wait_event(), the unlock, finish_wait() and the lock again; a reader that waits for \
        each message and one that finds it there differ by 2.0 us with the switch to it, of which the switch is 0.8 \
        to 1.3 (AMD EPYC, guest of 6.18)",
    ..call("waited", 900, 200, 1_200)
};

/// `write()` to one of the Unix stream sockets of a group, which many writers share.
pub(crate) const GROUP_SOCKET_WRITE: ParamDef = shared("write", 5000, 700, 6000);
/// `read()` from one of them.
pub(crate) const GROUP_SOCKET_READ: ParamDef = shared("read", 400, 300, 4000);

/// How long the allocator's lock is held for a message through a socket, both when its `sk_buff` is taken and when it
/// is given back: on the average, as SLUB does it for several at a time. It bounds the messages of the whole machine,
/// on whichever CPUs they are written: why a full machine does the same work under either policy.
pub(crate) const SOCKET_MEMORY: ParamDef = ParamDef {
    origin: "assumed: fitted to the search statistics of hackbench in the SIS_UTIL posting (28 tasks a group); \
             writers take memory that readers on other CPUs give back, which SLUB does under a lock of the whole node \
             (list_lock)",
    ..call("memory", 100, 20, 200)
};

/// By how much work varies.
pub(crate) const JITTER: ParamDef = ParamDef {
    name: "jitter",
    unit: "%",
    value: 20,
    low: 15,
    high: 25,
    max: 100,
    origin: "assumed: uniform, each amount of work drawn anew; without it the tasks run in lock-step",
};

/// The time between two forks of processes.
pub(crate) const FORK: ParamDef = ParamDef {
    origin: "assumed: a process forks small ones after another, each with its own memory map",
    ..call("start", 60_000, 30_000, 150_000)
};
/// The time between two starts of threads.
pub(crate) const CLONE: ParamDef = ParamDef {
    origin: "assumed: a thread starts others one after another, which share its memory map",
    ..call("start", 15_000, 8_000, 40_000)
};

/// How often each task goes round.
pub(crate) const LOOPS: ParamDef = ParamDef {
    name: "loops",
    unit: "",
    value: 0,
    low: 0,
    high: 10_000_000,
    max: 10_000_000,
    origin: "0: loops for ever, and the metric counts what is done in the measured time; else the benchmark's own \
             number of loops, and the metric is the time until all are done",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_hold_whole_messages_in_each_page() {
        // 40 of 100 bytes are 4000; the 41st begins a page.
        assert_eq!(pipe_capacity(100), 640);
        assert_eq!(pipe_room(100), 40);
        assert_eq!((pipe_room(1), pipe_room(4096)), (4096, 1));
        assert_eq!((pipe_capacity(1), pipe_capacity(4096), pipe_capacity(2049)), (PIPE_BYTES, 16, 16));
    }

    #[test]
    fn sockets_hold_what_their_buffers_come_to() {
        // 100 bytes are 128 + 320 in 512, and 256: 277 come to 212736, less than 212992, so that one more is taken.
        assert_eq!(socket_capacity(100), 278);
        // 69 of 768 are 52992, and a quarter of the buffer is 53248: 209 must have been read.
        assert_eq!(socket_room(100), 209);
        assert_eq!(socket_capacity(4096), 212_992_u32.div_ceil(8192 + 256));
    }
}
