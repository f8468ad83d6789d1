//! The obvious implementation that limits are compared with: for each subject a bucket that refills, in whole
//! nanoseconds, and a sum of characters a month; one thread, unlimited room.

use std::collections::HashMap;

use super::{Limit, MONTH_MS, Now, Standing, Verdict, Weight};

#[derive(Default)]
struct Holder {
    /// Time until the bucket is full again.
    missing_nanos: u64,
    at_nanos: u64,
    /// Start of month 1.
    anchor_ms: Option<u64>,
    characters: HashMap<u64, u64>,
}

#[derive(Default)]
pub struct Naive {
    holders: HashMap<u64, Holder>,
}

impl Naive {
    fn holder(&mut self, who: u64, nanos: u64) -> &mut Holder {
        let holder = self.holders.entry(who).or_default();
        holder.missing_nanos = holder.missing_nanos.saturating_sub(nanos - holder.at_nanos);
        holder.at_nanos = nanos;
        holder
    }

    pub fn admit(&mut self, who: u64, limit: Limit, now: Now) -> Standing {
        self.admit_weighted(who, limit, Weight::Whole, now)
    }

    pub fn admit_weighted(&mut self, who: u64, limit: Limit, weight: Weight, now: Now) -> Standing {
        let holder = self.holder(who, now.nanos);
        let nanos_each = 60_000_000_000 / u64::from(limit.per_minute);
        let cost = if weight == Weight::Tenth {
            nanos_each / 10
        } else {
            nanos_each
        };
        let depth = nanos_each * u64::from(limit.per_minute);
        let mut month_start_ms = 0;
        let mut verdict = Verdict::Admitted;
        let mut retry_seconds = 0;
        if limit.per_month > 0 {
            match holder.anchor_ms {
                None => verdict = Verdict::Unloaded,
                Some(anchor) => {
                    let month = (now.wall_ms - anchor) / MONTH_MS;
                    month_start_ms = anchor + month * MONTH_MS;
                    if holder.characters.get(&month).copied().unwrap_or(0) >= limit.per_month {
                        verdict = Verdict::OverMonth;
                        retry_seconds = (anchor + (month + 1) * MONTH_MS - now.wall_ms).div_ceil(1000);
                    }
                }
            }
        }
        if verdict == Verdict::Admitted {
            if holder.missing_nanos + cost > depth {
                verdict = Verdict::OverMinute;
                retry_seconds = (holder.missing_nanos + cost - depth).div_ceil(1_000_000_000);
            } else {
                holder.missing_nanos += cost;
            }
        }
        let missing = if verdict == Verdict::Unloaded {
            0
        } else {
            holder.missing_nanos
        };
        Standing {
            verdict,
            remaining: (depth.saturating_sub(missing) / nanos_each) as u32,
            full_in_seconds: missing.div_ceil(1_000_000_000),
            retry_seconds,
            month_start_ms,
        }
    }

    /// Admits an address within networks, the widest first, each with its multiple of the rate: every one of
    /// them must have room. If the month's usage is not loaded, the networks' share stays taken.
    pub fn admit_within(
        &mut self,
        networks: &[(u64, u32)],
        who: u64,
        limit: Limit,
        weight: Weight,
        now: Now,
    ) -> Standing {
        let of_network = |times: u32| Limit {
            per_minute: (u64::from(limit.per_minute) * u64::from(times)).min(1_000_000) as u32,
            per_month: 0,
        };
        let mut remaining = limit.per_minute;
        let mut taken = Vec::new();
        for &(network, times) in networks {
            let mut standing = self.admit_weighted(network, of_network(times), weight, now);
            if standing.verdict == Verdict::OverMinute {
                self.give_back(&taken, weight, now.nanos);
                standing.verdict = Verdict::OverNetwork;
                return standing;
            }
            remaining = remaining.min(standing.remaining);
            taken.push((network, of_network(times).per_minute));
        }
        let mut standing = self.admit_weighted(who, limit, weight, now);
        if !matches!(standing.verdict, Verdict::Admitted | Verdict::Unloaded) {
            self.give_back(&taken, weight, now.nanos);
        }
        standing.remaining = standing.remaining.min(remaining);
        standing
    }

    pub fn give_back(&mut self, taken: &[(u64, u32)], weight: Weight, nanos: u64) {
        for &(who, per_minute) in taken {
            let each = 60_000_000_000 / u64::from(per_minute);
            let cost = if weight == Weight::Tenth { each / 10 } else { each };
            let holder = self.holder(who, nanos);
            holder.missing_nanos = holder.missing_nanos.saturating_sub(cost);
        }
    }

    /// Counts `count` more, even if there is too little left.
    pub fn spend(&mut self, from: &[(u64, u32)], count: u32, nanos: u64) {
        for &(who, per_minute) in from {
            let each = 60_000_000_000 / u64::from(per_minute);
            self.holder(who, nanos).missing_nanos += each * u64::from(count);
        }
    }

    pub fn load(&mut self, who: u64, month_start_ms: u64, characters: u64, nanos: u64) {
        let holder = self.holder(who, nanos);
        if holder.anchor_ms.is_none() {
            holder.anchor_ms = Some(month_start_ms);
            holder.characters.insert(0, characters);
        }
    }

    pub fn charge(&mut self, who: u64, month_start_ms: u64, characters: u64, nanos: u64) {
        let holder = self.holder(who, nanos);
        if let Some(anchor) = holder.anchor_ms {
            *holder
                .characters
                .entry((month_start_ms - anchor) / MONTH_MS)
                .or_default() += characters;
        }
    }
}
