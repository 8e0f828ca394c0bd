//! The requests of a client of tbench: dbench's load file in small. (dbench has the load file itself.)
//!
//! How often each comes is assumed: as dbench's table of operations is remembered to print it after a run, to whole
//! requests in 29: NTCreateX 1000, Close 735, Qpathinfo 906, ReadX 1568, WriteX 499, Find 350, Unlink 202, Qfsinfo
//! 166, Qfileinfo 159 and less of others. How many bytes go each way is as in `sockio.c` of dbench 4.0, with names of
//! 30 characters and 10 files found.

use std::cmp::Reverse;

/// The kinds of requests.
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
    /// The kind of request.
    pub(crate) kind: Kind,
    /// The bytes that the client sends.
    pub(crate) sent: u64,
    /// The bytes of the reply.
    pub(crate) received: u64,
}

const fn of(kind: Kind, sent: u64, received: u64) -> Request {
    Request { kind, sent, received }
}

/// The most that a request reads or writes; so the most, too, that data requests have in the mean.
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

/// Sizes in these eighths of `bytes`. What the largest may not have goes to the others, so that the mean stays; all
/// have the most where `bytes` is more than that.
fn sizes(bytes: u64, eighths: &[u64]) -> Vec<u64> {
    let mut sizes: Vec<u64> = eighths.iter().map(|eighths| (bytes * eighths / 8).min(BYTES_MAX)).collect();
    let sum: u64 = eighths.iter().map(|eighths| bytes * eighths / 8).sum();
    let mut over = sum - sizes.iter().sum::<u64>();
    let mut left = sizes.iter().filter(|size| **size < BYTES_MAX).count() as u64;
    // The largest first: where one has no room for its share, the rest of that goes to the smaller.
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&at| sizes[at] < BYTES_MAX).collect();
    order.sort_by_key(|&at| Reverse(sizes[at]));
    for at in order {
        let more = over.div_ceil(left).min(BYTES_MAX - sizes[at]);
        sizes[at] += more;
        over -= more;
        left -= 1;
    }
    sizes
}

/// A round of requests, each kind spread over all of it, where a data request has `bytes` in the mean, up to 64 KiB.
pub(crate) fn round(bytes: u64) -> Vec<Request> {
    let read = |size: &u64| of(Kind::Read, 39 + 20, 39 + 20 + size);
    let write = |size: &u64| of(Kind::Write, 39 + 20 + size, 39 + 16);
    let (reads, writes) = (sizes(bytes, &READS), sizes(bytes, &WRITES));
    let small = SMALL.iter().map(|&(times, request)| vec![request; times as usize]);
    let kinds = small.chain([reads.iter().map(read).collect(), writes.iter().map(write).collect()]);
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

    /// Up to 16 KiB the largest is four times the mean, as the sizes say; the range of the tables ends at 24 KiB.
    #[test]
    fn the_mean_is_what_is_given_where_the_largest_is_cut_off_too() {
        for bytes in [16_384, 16_392, 24_576, 40_000, 60_000, 65_536] {
            for eighths in [&READS[..], &WRITES[..]] {
                let sizes = sizes(bytes, eighths);
                assert_eq!(sizes.iter().sum::<u64>(), bytes * sizes.len() as u64, "{bytes}: {sizes:?}");
                assert!(sizes.iter().all(|size| *size <= BYTES_MAX), "{bytes}: {sizes:?}");
            }
        }
        assert_eq!(sizes(12_288, &READS), READS.map(|eighths| 1_536 * eighths));
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
