//! The requests of a client of dbench and of tbench: dbench's load file in small.
//!
//! How often each comes is assumed, because the load file `client.txt` was not at hand: as dbench's table of operations
//! is remembered to print it after a run, to whole requests in 29: NTCreateX 1000,
//! Close 735, Qpathinfo 906, ReadX 1568, WriteX 499, Find 350, Unlink 202, Qfsinfo 166, Qfileinfo 159 and less of others.
//! How many bytes go each way is as in `sockio.c` of dbench 4.0, with names of 30 characters and 10 files found.

use std::cmp::Reverse;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// NTCreateX: opens a file, or makes it.
    Open,
    /// Close.
    Close,
    /// Qpathinfo, Qfileinfo, Qfsinfo.
    Query,
    /// Find: a listing.
    Find,
    /// Unlink.
    Unlink,
    /// ReadX.
    Read,
    /// WriteX.
    Write,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// What it asks for.
    pub(crate) kind: Kind,
    /// The bytes that the client sends.
    pub(crate) sent: u64,
    /// The bytes of the reply.
    pub(crate) received: u64,
}

const fn of(kind: Kind, sent: u64, received: u64) -> Request {
    Request { kind, sent, received }
}

/// The most that a request reads or writes.
const BYTES_MAX: u64 = 65_536;

const NAME: u64 = 2 * 30;

/// Requests without data: how many in a round, and the bytes each way.
const SMALL: [(u64, Request); 7] = [
    // NTCreateX, Close, Qpathinfo.
    (5, of(Kind::Open, 70 + 2 + NAME + 2, 39 + 12 * 4)),
    (4, of(Kind::Close, 39 + 8, 39)),
    (5, of(Kind::Query, 39 + 16 + NAME, 39 + 32)),
    // Find, Unlink, Qfsinfo, Qfileinfo.
    (2, of(Kind::Find, 39 + 20 + NAME, 39 + 90 * 10)),
    (1, of(Kind::Unlink, 39 + 2 + NAME + 2, 39)),
    (1, of(Kind::Query, 39 + 20, 39 + 32)),
    (1, of(Kind::Query, 39 + 20, 39 + 32)),
];

/// Sizes of reads and of writes, in eighths of the mean; the mean of each is 8.
const READS: [u64; 8] = [1, 16, 2, 4, 1, 32, 2, 6];
const WRITES: [u64; 2] = [4, 12];

/// A round of requests, each kind spread over all of it, where a data request has `bytes` in the mean.
pub(crate) fn round(bytes: u64) -> Vec<Request> {
    let size = |eighths: u64| (bytes * eighths / 8).min(BYTES_MAX);
    let read = |eighths: &u64| of(Kind::Read, 39 + 20, 39 + 20 + size(*eighths));
    let write = |eighths: &u64| of(Kind::Write, 39 + 20 + size(*eighths), 39 + 16);
    let small = SMALL.iter().map(|&(times, request)| vec![request; times as usize]);
    let kinds = small.chain([READS.iter().map(read).collect(), WRITES.iter().map(write).collect()]);
    let mut placed: Vec<(u64, Reverse<usize>, Request)> = Vec::new();
    for (kind, requests) in kinds.enumerate() {
        let n = requests.len() as u64;
        // Request i of n stands in the middle of the i-th n-th of the round.
        let at = |i: u64| (2 * i + 1) * 1_000_000 / (2 * n);
        placed.extend((0..).zip(requests).map(|(i, request)| (at(i), Reverse(kind), request)));
    }
    placed.sort_by_key(|&(at, kind, _)| (at, kind));
    placed.into_iter().map(|(.., request)| request).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_dbenchs_share_of_each_request_and_the_mean_size_that_is_given() {
        let round = round(8_000);
        assert_eq!(round.len(), 29);
        let data: Vec<u64> = round.iter().map(|r| r.sent.max(r.received)).filter(|bytes| *bytes >= 1_059).collect();
        assert_eq!(data.len(), 10);
        assert_eq!(data.iter().sum::<u64>(), 10 * (8_000 + 39 + 20));
    }

    #[test]
    fn no_request_carries_more_than_64_kib() {
        let largest = round(1_000_000).iter().map(|r| r.sent.max(r.received)).max();
        assert_eq!(largest, Some(65_536 + 39 + 20));
    }

    #[test]
    fn requests_of_a_kind_do_not_follow_each_other() {
        let round = round(12_288);
        let reads = |request: &Request| request.kind == Kind::Read;
        assert!(round.windows(2).all(|two| !two.iter().all(reads)), "{round:?}");
    }
}
