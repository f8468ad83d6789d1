//! Admission of a key or an address by its tier and its limits, decided in one step; and the usage that one
//! process has counted and not yet handed to the store.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::mem;

use super::keys::{self, Hash, Known, Record, Status};
use super::limits::{KEYS, Limit, Limits, MONTH_MS, Now, Standing, Subject, Verdict, Weight};

const DAY_MS: u64 = 86_400_000;

/// Decision about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Decided by the limits. [`Verdict::Unloaded`]: load the subject's usage, then ask again.
    Limited(Verdict),
    /// A well-formed key that this process does not know: look it up, then ask again.
    Unknown,
    /// No key, or a mistyped one.
    Malformed,
    /// The key has expired.
    Expired,
    /// The key was revoked.
    Revoked,
    /// The key is suspended.
    Suspended,
}

/// A decision, and the facts for its answer.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The decision.
    pub outcome: Outcome,
    /// State of the limits; `None` if no limit was checked.
    pub standing: Option<Standing>,
    /// Index of the key's tier; 0 for addresses.
    pub tier: usize,
    /// When the month of a charge began (ms since 1970); 0 if no month is counted.
    pub month_start_ms: u64,
}

impl Decision {
    fn without_limits(outcome: Outcome) -> Self {
        Self {
            outcome,
            standing: None,
            tier: 0,
            month_start_ms: 0,
        }
    }

    fn of(standing: Standing, tier: usize, month_start_ms: u64) -> Self {
        Self {
            outcome: Outcome::Limited(standing.verdict),
            standing: Some(standing),
            tier,
            month_start_ms,
        }
    }
}

/// Subject of a month's characters: the kind (0: keys), then the key's hash or the address.
pub type UsageSubject = Vec<u8>;

/// Usage of a key on one day (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayUse {
    /// Days since 1970.
    pub day: u32,
    /// Requests that were admitted.
    pub requests: u64,
    /// Characters charged for them.
    pub characters: u64,
    /// Requests that a limit refused.
    pub refused: u64,
}

impl DayUse {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.characters += other.characters;
        self.refused += other.refused;
    }
}

/// Usage that was counted and is not stored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// Its subject.
    pub subject: UsageSubject,
    /// When its month began (ms since 1970).
    pub month_start_ms: u64,
    /// Characters of the month.
    pub characters: u64,
    /// Usage of each day, of keys only; a day occurs once.
    pub days: Vec<DayUse>,
}

/// Usage of one subject in one month, while it is gathered.
#[derive(Default)]
struct Gathered {
    characters: u64,
    days: Vec<DayUse>,
}

impl Gathered {
    /// The entry of a day. There is one for the current day and, around midnight, one for the day before.
    fn day(&mut self, day: u32) -> &mut DayUse {
        let found = self.days.iter().position(|each| each.day == day);
        let at = found.unwrap_or_else(|| {
            self.days.push(DayUse {
                day,
                ..DayUse::default()
            });
            self.days.len() - 1
        });
        &mut self.days[at]
    }
}

/// Keys, tiers and limits in one process.
pub struct Access {
    limits: Limits,
    tiers: Vec<Limit>,
    known: Known,
    gathered: HashMap<(UsageSubject, u64), Gathered>,
}

impl Access {
    /// `tiers`: limits of a key, by tier index.
    pub fn new(limits: Limits, tiers: Vec<Limit>) -> Self {
        Self {
            limits,
            tiers,
            known: Known::default(),
            gathered: HashMap::new(),
        }
    }

    /// Adds a key's record; false if its tier is unknown.
    pub fn know(&mut self, hash: Hash, record: Record) -> bool {
        let known = record.tier < self.tiers.len();
        if known {
            self.known.insert(hash, record);
        }
        known
    }

    /// Forgets a key, so that its record is looked up again.
    pub fn forget(&mut self, hash: &Hash) {
        self.known.forget(hash);
    }

    /// Forgets every key.
    pub fn forget_all(&mut self) {
        self.known.forget_all();
    }

    /// Decides about a request with a key and counts it.
    pub fn admit_key(&mut self, key: &[u8], now: Now) -> Decision {
        let Some(hash) = keys::hash(key) else {
            return Decision::without_limits(Outcome::Malformed);
        };
        let Some(record) = self.known.get(&hash) else {
            return Decision::without_limits(Outcome::Unknown);
        };
        if let Some(refused) = refused(&record, now.wall_ms) {
            return Decision::without_limits(refused);
        }
        let subject = self.limits.subject(KEYS, &record.counted_as);
        let standing = self.limits.admit(subject, self.tiers[record.tier], now);
        let months = now.wall_ms.saturating_sub(record.issued_at_ms) / MONTH_MS;
        let decision = Decision::of(standing, record.tier, record.issued_at_ms + months * MONTH_MS);
        self.count_request(&record, &decision, now.wall_ms);
        decision
    }

    /// Counts a decided request in the day's usage.
    fn count_request(&mut self, record: &Record, decision: &Decision, wall_ms: u64) {
        let (requests, refused) = match decision.outcome {
            Outcome::Limited(Verdict::Admitted | Verdict::Uncounted) => (1, 0),
            Outcome::Limited(Verdict::OverMinute | Verdict::OverMonth) => (0, 1),
            _ => return,
        };
        let subject = usage_subject(KEYS, &record.counted_as);
        let gathered = self
            .gathered
            .entry((subject, decision.month_start_ms))
            .or_default();
        let day = gathered.day(day_of(wall_ms));
        day.requests += requests;
        day.refused += refused;
    }

    /// Decides about a request of an address under the limit `kind`, which is not 0, and counts it.
    pub fn admit_address(
        &self,
        kind: u8,
        address: &[u8],
        limit: Limit,
        weight: Weight,
        now: Now,
    ) -> Decision {
        let address = self.limits.address(kind, address);
        let standing = self.limits.admit_address(&address, limit, weight, now);
        Decision::of(standing, 0, standing.month_start_ms)
    }

    /// Decides again about a request after [`Verdict::Unloaded`].
    pub fn admit_loaded(&self, kind: u8, address: &[u8], limit: Limit, weight: Weight, now: Now) -> Decision {
        let address = self.limits.address(kind, address);
        let standing = self.limits.admit_loaded(&address, limit, weight, now);
        Decision::of(standing, 0, standing.month_start_ms)
    }

    /// Counts `count` more for an address that was admitted under the limit `kind`.
    pub fn spend(&self, kind: u8, address: &[u8], per_minute: u32, count: u32, now: Now) {
        let address = self.limits.address(kind, address);
        self.limits.spend_address(&address, per_minute, count, now);
    }

    /// Undoes one [`Access::admit_address`].
    pub fn give_back(&self, kind: u8, address: &[u8], per_minute: u32) {
        let address = self.limits.address(kind, address);
        self.limits.give_back_address(&address, per_minute, Weight::Whole);
    }

    /// True once per `every` (ns) for a subject of the kind, across all processes of the machine.
    pub fn first_in(&self, kind: u8, subject: &[u8], every: u64, nanos: u64) -> bool {
        self.limits
            .first_in(self.limits.subject(kind, subject), every, nanos)
    }

    /// Loads a subject's usage from the store.
    pub fn load(&self, subject: &[u8], month_start_ms: u64, characters: u64, nanos: u64) {
        if let Some(subject) = self.limited(subject) {
            self.limits.load(subject, month_start_ms, characters, nanos);
        }
    }

    /// The subject of a key's usage, even if the key was forgotten; `None` if the table does not have it.
    pub fn usage_subject(&self, key: &[u8]) -> Option<UsageSubject> {
        let holder = self.known.counted_as(&keys::hash(key)?)?;
        Some(usage_subject(KEYS, &holder))
    }

    /// Charges a key's holder; false if the process does not know the key (any more): then nothing is
    /// charged.
    pub fn charge_key(&mut self, key: &[u8], month_start_ms: u64, characters: u64, now: Now) -> bool {
        let Some(record) = keys::hash(key).and_then(|hash| self.known.get(&hash)) else {
            return false;
        };
        let subject = usage_subject(KEYS, &record.counted_as);
        self.charge_limit(&subject, month_start_ms, characters, now.nanos);
        let gathered = self.gathered.entry((subject, month_start_ms)).or_default();
        gathered.characters += characters;
        gathered.day(day_of(now.wall_ms)).characters += characters;
        true
    }

    /// Charges an address under the limit `kind`.
    pub fn charge_address(&mut self, kind: u8, address: &[u8], month_start_ms: u64, count: u64, nanos: u64) {
        let subject = usage_subject(kind, address);
        self.charge_limit(&subject, month_start_ms, count, nanos);
        let gathered = self.gathered.entry((subject, month_start_ms)).or_default();
        gathered.characters += count;
    }

    fn charge_limit(&self, subject: &[u8], month_start_ms: u64, characters: u64, nanos: u64) {
        if let Some(limited) = self.limited(subject) {
            self.limits.charge(limited, month_start_ms, characters, nanos);
        }
    }

    /// Adds usage to the next [`Access::take_charged`]; the limits have counted it already.
    pub fn owe(&mut self, delta: Delta) {
        let gathered = self
            .gathered
            .entry((delta.subject, delta.month_start_ms))
            .or_default();
        gathered.characters += delta.characters;
        for each in &delta.days {
            gathered.day(each.day).add(each);
        }
    }

    /// Takes the usage of this process since the last call, to be stored.
    pub fn take_charged(&mut self) -> Vec<Delta> {
        let gathered = mem::take(&mut self.gathered);
        let deltas = gathered.into_iter().map(
            |((subject, month_start_ms), Gathered { characters, days })| Delta {
                subject,
                month_start_ms,
                characters,
                days,
            },
        );
        deltas.collect()
    }

    /// Raises a month's total to that of the store, which other machines may have added to.
    pub fn raise(&self, subject: &[u8], month_start_ms: u64, total: u64, nanos: u64) {
        if let Some(subject) = self.limited(subject) {
            self.limits.raise(subject, month_start_ms, total, nanos);
        }
    }

    fn limited(&self, subject: &[u8]) -> Option<Subject> {
        let (&kind, bytes) = subject.split_first()?;
        Some(self.limits.subject(kind, bytes))
    }
}

fn usage_subject(kind: u8, bytes: &[u8]) -> UsageSubject {
    [&[kind], bytes].concat()
}

fn day_of(wall_ms: u64) -> u32 {
    u32::try_from(wall_ms / DAY_MS).unwrap_or(u32::MAX)
}

/// Why a known key is refused, if so.
fn refused(record: &Record, now_ms: u64) -> Option<Outcome> {
    match record.status {
        Status::Revoked => Some(Outcome::Revoked),
        Status::Suspended => Some(Outcome::Suspended),
        Status::Active => {
            let expired = record.expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms);
            expired.then_some(Outcome::Expired)
        }
    }
}
