//! An address under a limit, and its networks. A holder of many addresses in one network is limited by the
//! network's bucket, a holder of many networks by the one bucket shared by all newcomers.

use super::slot::Taking;
use super::{Limit, Limits, MOST_PER_MINUTE, Now, Standing, Subject, Verdict, Weight, cost, depth};

/// The area of the networks' slots.
const NETWORKS: usize = 2;

/// Rate of a wide network, as a multiple of an address's: a /24 (IPv4), a /48 (IPv6), and the crowd.
pub const WIDE_TIMES: u32 = 64;
/// Rate of a /56 (IPv6), as a multiple of an address's.
pub const NARROW_TIMES: u32 = 8;

/// A network that contains an address.
#[derive(Clone, Copy, Debug)]
struct Network {
    subject: Subject,
    times: u32,
}

/// An address under one kind of limit: its own subject, and its networks, the widest first.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    kind: u8,
    own: Subject,
    networks: [Option<Network>; 2],
}

/// The buckets that one request was taken from; a refusal returns it to all of them.
#[derive(Clone, Copy, Default)]
struct Taken {
    networks: [bool; 2],
    crowd: bool,
}

impl Limits {
    /// The address of `kind` and `bytes`: 4 bytes (IPv4) or 8 (an IPv6 /64); others have no networks.
    pub fn address(&self, kind: u8, bytes: &[u8]) -> Address {
        let network = |length: usize, times| {
            let subject = self.subject_in(NETWORKS, kind, &bytes[..length]);
            Some(Network { subject, times })
        };
        Address {
            kind,
            own: self.subject(kind, bytes),
            networks: match bytes.len() {
                4 => [network(3, WIDE_TIMES), None],
                8 => [network(6, WIDE_TIMES), network(7, NARROW_TIMES)],
                _ => [None, None],
            },
        }
    }

    /// Counts one request of an address, in its own bucket and in those of its networks. If one of them is
    /// over its limit, the request is refused and returned to the others. After [`Verdict::Unloaded`] the
    /// networks' share stays taken until [`Limits::admit_loaded`]: many simultaneous first requests must not
    /// claim more slots than their network has requests.
    pub fn admit_address(&self, address: &Address, limit: Limit, weight: Weight, now: Now) -> Standing {
        if limit.per_minute == 0 {
            let standing = self.admit_counted(address.own, limit, weight, now);
            return standing.unwrap_or_else(|| Standing::uncounted(Verdict::Crowded, limit));
        }
        let mut taken = Taken::default();
        let mut remaining = u32::MAX;
        for at in 0..address.networks.len() {
            if let Some(standing) = self.take_network(address, at, &mut taken, limit, weight, now) {
                if standing.verdict != Verdict::Admitted {
                    self.give_back_taken(address, taken, limit.per_minute, weight);
                    return standing;
                }
                remaining = remaining.min(standing.remaining);
            }
        }
        let own = self.admit_counted(address.own, limit, weight, now);
        let mut standing =
            own.unwrap_or_else(|| self.take_crowd(address.kind, &mut taken, limit, weight, now));
        if standing.verdict == Verdict::Admitted && taken.crowd {
            standing.verdict = Verdict::Crowded;
        }
        if !matches!(
            standing.verdict,
            Verdict::Admitted | Verdict::Crowded | Verdict::Unloaded
        ) {
            self.give_back_taken(address, taken, limit.per_minute, weight);
        }
        standing.remaining = standing.remaining.min(remaining).min(limit.per_minute);
        standing
    }

    /// Asks again after [`Verdict::Unloaded`].
    pub fn admit_loaded(&self, address: &Address, limit: Limit, weight: Weight, now: Now) -> Standing {
        if limit.per_minute > 0 {
            self.give_back_networks(address, limit.per_minute, weight);
        }
        self.admit_address(address, limit, weight, now)
    }

    /// Undoes one [`Limits::admit_address`] for a request that turned out not to count.
    pub fn give_back_address(&self, address: &Address, per_minute: u32, weight: Weight) {
        if per_minute == 0 {
            return;
        }
        let crowded = self.give_back_networks(address, per_minute, weight);
        if !self.give_back_counted(address.own, per_minute, weight) && !crowded {
            self.give_back_crowd(address.kind, per_minute, weight);
        }
    }

    /// Counts `count` more after [`Limits::admit_address`] admitted a request of unknown size. The buckets
    /// may go into debt: later requests wait until it is paid.
    pub fn spend_address(&self, address: &Address, per_minute: u32, count: u32, now: Now) {
        if per_minute == 0 {
            return;
        }
        let cost_of = |times| cost(wide(per_minute, times), Weight::Whole) * u64::from(count);
        let mut crowded = false;
        for network in address.networks.iter().flatten() {
            crowded |= !self.spend(network.subject, cost_of(network.times), now.nanos);
        }
        crowded |= !self.spend(address.own, cost_of(1), now.nanos);
        if crowded {
            let crowd = self.mapped.crowd(address.kind);
            crowd.spend(0, cost_of(WIDE_TIMES), now.nanos);
        }
    }

    fn spend(&self, subject: Subject, cost: u64, nanos: u64) -> bool {
        self.find(subject)
            .is_some_and(|slot| slot.spend(subject.tag, cost, nanos))
    }

    /// Returns a request to every network, and once to the crowd if one has no slot; true in that case.
    fn give_back_networks(&self, address: &Address, per_minute: u32, weight: Weight) -> bool {
        let mut crowded = false;
        for network in address.networks.iter().flatten() {
            crowded |= !self.give_back_counted(network.subject, wide(per_minute, network.times), weight);
        }
        if crowded {
            self.give_back_crowd(address.kind, per_minute, weight);
        }
        crowded
    }

    fn give_back_taken(&self, address: &Address, taken: Taken, per_minute: u32, weight: Weight) {
        for (network, _) in address.networks.iter().zip(taken.networks).filter(|each| each.1) {
            if let Some(Network { subject, times }) = network {
                self.give_back_counted(*subject, wide(per_minute, *times), weight);
            }
        }
        if taken.crowd {
            self.give_back_crowd(address.kind, per_minute, weight);
        }
    }

    /// Takes one request from a network; `None` if there is no network, or if the crowd has counted it.
    fn take_network(
        &self,
        address: &Address,
        at: usize,
        taken: &mut Taken,
        limit: Limit,
        weight: Weight,
        now: Now,
    ) -> Option<Standing> {
        let Network { subject, times } = address.networks[at]?;
        let of_network = Limit {
            per_minute: wide(limit.per_minute, times),
            per_month: 0,
        };
        let Some(mut standing) = self.admit_counted(subject, of_network, weight, now) else {
            if taken.crowd {
                return None;
            }
            let mut standing = self.take_crowd(address.kind, taken, limit, weight, now);
            if standing.verdict == Verdict::Crowded {
                standing.verdict = Verdict::Admitted;
            }
            return Some(standing);
        };
        taken.networks[at] = standing.verdict == Verdict::Admitted;
        if standing.verdict == Verdict::OverMinute {
            standing.verdict = Verdict::OverNetwork;
        }
        Some(standing)
    }

    /// Takes one request from the crowd's bucket, unless this request has done so already.
    fn take_crowd(&self, kind: u8, taken: &mut Taken, limit: Limit, weight: Weight, now: Now) -> Standing {
        if taken.crowd {
            return Standing::uncounted(Verdict::Crowded, limit);
        }
        let per_minute = wide(limit.per_minute, WIDE_TIMES);
        // No subject claims this slot: its owner is always 0.
        let crowd = self.mapped.crowd(kind);
        let taking = crowd.take(0, depth(per_minute), cost(per_minute, weight), now.nanos);
        let taking = taking.unwrap_or(Taking {
            used_nanos: 0,
            wait_nanos: 1,
        });
        taken.crowd = taking.wait_nanos == 0;
        let verdict = if taken.crowd {
            Verdict::Crowded
        } else {
            Verdict::OverCrowd
        };
        let of_crowd = Limit {
            per_minute,
            per_month: 0,
        };
        Standing::of(verdict, of_crowd, taking)
    }

    fn give_back_crowd(&self, kind: u8, per_minute: u32, weight: Weight) {
        let per_minute = wide(per_minute, WIDE_TIMES);
        self.mapped.crowd(kind).give_back(0, cost(per_minute, weight));
    }
}

/// The rate of a network with `times` the rate of an address.
pub(super) fn wide(per_minute: u32, times: u32) -> u32 {
    per_minute.saturating_mul(times).min(MOST_PER_MINUTE)
}
