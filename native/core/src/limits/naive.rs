//! The obvious reading that limits are held against: a bucket that refills, counted in whole nanoseconds, and
//! a sum of characters a month, for each subject; one thread, unlimited room.

use std::collections::HashMap;

use super::{Limit, MONTH_MS, Now, Standing, Verdict};

#[derive(Default)]
struct Holder {
    /// What is missing from a full bucket, in time that passes until it is there again.
    missing_nanos: u64,
    at_nanos: u64,
    /// Month 1's beginning.
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
        let holder = self.holder(who, now.nanos);
        let nanos_each = 60_000_000_000 / u64::from(limit.per_minute);
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
            if holder.missing_nanos + nanos_each > depth {
                verdict = Verdict::OverMinute;
                retry_seconds = (holder.missing_nanos + nanos_each - depth).div_ceil(1_000_000_000);
            } else {
                holder.missing_nanos += nanos_each;
            }
        }
        let missing = if verdict == Verdict::Unloaded {
            0
        } else {
            holder.missing_nanos
        };
        Standing {
            verdict,
            remaining: ((depth - missing) / nanos_each) as u32,
            full_in_seconds: missing.div_ceil(1_000_000_000),
            retry_seconds,
            month_start_ms,
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
