//! Limits across all processes of a machine: requests a minute as a token bucket (GCRA, ITU-T I.371),
//! characters a month as a sum. They are in one mapped file; every worker changes them with atomics.
//!
//! **Layout.** A header (magic, secret seed), then three areas of 2^16 slots of 64 bytes: one for keys, one
//! for addresses, one for networks. So a flood of addresses takes neither a key's slot nor a network's. A
//! subject (kind and bytes) is identified by a 64-bit SipHash under the seed. Without the seed no one can aim
//! at a slot, and the probability that any two of 65,536 subjects share a hash is 2^-33. A subject's slot is
//! one of the 16 of its group. After the areas comes one slot for each kind of limit: the crowd's.
//!
//! **Hits take no lock.** A slot's `bucket` is the time at which it is full again. Requests and changes of
//! owner move it forward; only a returned request moves it back. A compare-exchange from a value read under
//! one owner fails once the slot has another. So admission is exact however many processes use one bucket.
//!
//! **A change of owner takes the file's lock**, which the kernel releases when its holder dies. A process
//! killed at any instruction leaves a slot that is free, or one that still belongs to its former owner.
//!
//! **Eviction forgives nothing.** A slot may go to another subject once its bucket has been full for a
//! minute and nothing was charged for a minute: by then the caller has stored the usage, and loads it again
//! at the next request. A slot without usage may go after a second. If all 16 slots of a group are busy, a
//! 17th subject gets none. A key is then admitted without being counted ([`Verdict::Uncounted`]): no paying
//! caller is refused for lack of a slot. An address is counted in one bucket that all such newcomers of its
//! kind share, the crowd ([`Verdict::Crowded`]): no number of addresses defeats a limit.
//!
//! **An address counts within its networks** ([`Address`]): their buckets are checked first, the widest
//! before the others, so that a network over its limit claims no slot for another of its addresses.

mod address;
mod file;
#[cfg(test)]
mod naive;
mod slot;
#[cfg(test)]
mod tests;

use std::hash::Hasher;
use std::io;
use std::path::Path;

use siphasher::sip::SipHasher24;

pub use address::Address;
use file::{AREA_SLOTS, Mapped};
pub use slot::{IDLE_NANOS, SHORT_IDLE_NANOS};
use slot::{Reading, Slot, Taking};

/// Slots in a group; a subject may take any of them.
const GROUP: usize = 16;
/// Groups of one area.
const AREA_GROUPS: usize = AREA_SLOTS / GROUP;
/// A month: 30 days (ms).
pub const MONTH_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// The largest number of requests a minute that a bucket counts with an error below 0.002 %.
pub const MOST_PER_MINUTE: u32 = 1_000_000;
/// The largest number of characters a month that a slot can hold.
pub const MOST_PER_MONTH: u64 = (1 << 40) - 1;

/// The kind of keys; most other kinds are addresses, each under one of their limits.
pub const KEYS: u8 = 0;

/// A subject of limits, by keyed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    tag: u64,
    first: usize,
}

/// Limits of a subject; 0: no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Requests a minute, at most [`MOST_PER_MINUTE`]; the same number may come at once.
    pub per_minute: u32,
    /// Characters in a month, at most [`MOST_PER_MONTH`].
    pub per_month: u64,
}

/// A point in time on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The machine's monotonic clock, the same for all processes (ns).
    pub nanos: u64,
    /// Wall time since 1970 (ms).
    pub wall_ms: u64,
}

/// Share of a whole request that this one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// All of it.
    Whole,
    /// A tenth: a request for the head of an answer.
    Tenth,
}

/// Verdict of a limit about one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Admitted, and counted.
    Admitted,
    /// Admitted, but not counted: every slot of the group is busy.
    Uncounted,
    /// Admitted; counted in the bucket shared by all addresses without a slot.
    Crowded,
    /// Over the minute's requests.
    OverMinute,
    /// Over the month's characters.
    OverMonth,
    /// The month's usage is not loaded: load it, then ask again.
    Unloaded,
    /// Over the minute's requests of one of the address's networks.
    OverNetwork,
    /// Over the minute's requests shared by all addresses without a slot.
    OverCrowd,
}

/// A verdict, and the facts for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The verdict.
    pub verdict: Verdict,
    /// Whole requests that would be admitted now.
    pub remaining: u32,
    /// Whole seconds until the bucket is full again, rounded up.
    pub full_in_seconds: u64,
    /// Whole seconds until a refused request would be admitted, at least 1; 0 if it was not refused.
    pub retry_seconds: u64,
    /// When the current month began (ms since 1970); 0 if no month is counted.
    pub month_start_ms: u64,
}

/// The limits of one machine, as mapped by one process.
pub struct Limits {
    mapped: Mapped,
}

impl Limits {
    /// Creates the file at `path` again, with every bucket full and no usage known. Mappings of a former file
    /// stay valid. `seed` is 16 secret random bytes.
    pub fn create(path: &Path, seed: [u8; 16]) -> io::Result<()> {
        file::create(path, seed)
    }

    /// Maps the file that [`Limits::create`] made.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            mapped: Mapped::open(path)?,
        })
    }

    /// The subject of `kind` and `bytes`.
    pub fn subject(&self, kind: u8, bytes: &[u8]) -> Subject {
        self.subject_in(if kind == KEYS { 0 } else { 1 }, kind, bytes)
    }

    fn subject_in(&self, area: usize, kind: u8, bytes: &[u8]) -> Subject {
        let mut hasher = SipHasher24::new_with_key(self.mapped.seed());
        hasher.write_u8(kind);
        hasher.write(bytes);
        let hash = hasher.finish();
        let group = hash as usize % AREA_GROUPS + area * AREA_GROUPS;
        Subject {
            tag: hash.max(1),
            first: group * GROUP,
        }
    }

    /// Counts one request of `subject`, unless it is over a limit.
    pub fn admit(&self, subject: Subject, limit: Limit, now: Now) -> Standing {
        self.admit_counted(subject, limit, Weight::Whole, now)
            .unwrap_or_else(|| Standing::uncounted(Verdict::Uncounted, limit))
    }

    /// Counts one request of `subject`; `None` if it has no slot and none is free.
    fn admit_counted(&self, subject: Subject, limit: Limit, weight: Weight, now: Now) -> Option<Standing> {
        loop {
            let slot = self.find(subject).or_else(|| self.claim(subject, now.nanos))?;
            if let Some(standing) = admit_in(slot, subject.tag, limit, weight, now) {
                return Some(standing);
            }
        }
    }

    /// True once per `every` (ns) for `subject`, across processes; always true while every slot of its group
    /// is busy.
    pub fn first_in(&self, subject: Subject, every: u64, nanos: u64) -> bool {
        loop {
            let Some(slot) = self.find(subject).or_else(|| self.claim(subject, nanos)) else {
                return true;
            };
            if let Some(taking) = slot.take(subject.tag, every, every, nanos) {
                return taking.wait_nanos == 0;
            }
        }
    }

    /// Undoes one [`Limits::admit`] for a request that turned out not to count.
    pub fn give_back(&self, subject: Subject, per_minute: u32) {
        self.give_back_counted(subject, per_minute, Weight::Whole);
    }

    /// Returns a request to the subject's slot; false if it has none.
    fn give_back_counted(&self, subject: Subject, per_minute: u32, weight: Weight) -> bool {
        let found = self.find(subject);
        if let (Some(slot), true) = (found, per_minute > 0) {
            slot.give_back(subject.tag, cost(per_minute, weight));
        }
        found.is_some()
    }

    /// Loads a subject's usage from a store: `characters` in the month that began at `month_start_ms`, from
    /// which months are counted. No effect if the usage is loaded already.
    pub fn load(&self, subject: Subject, month_start_ms: u64, characters: u64, nanos: u64) {
        let _lock = self.mapped.lock();
        let slot = self.find(subject).or_else(|| self.claim_locked(subject, nanos));
        if let Some(slot) = slot {
            slot.load(month_start_ms.max(1), characters.min(MOST_PER_MONTH), nanos);
        }
    }

    /// Adds characters to the month that began at `month_start_ms`, if the subject's usage is loaded.
    pub fn charge(&self, subject: Subject, month_start_ms: u64, characters: u64, nanos: u64) {
        self.change_usage(subject, month_start_ms, nanos, |used| {
            used.saturating_add(characters).min(MOST_PER_MONTH)
        });
    }

    /// Raises the total of the month that began at `month_start_ms` to that of a store.
    pub fn raise(&self, subject: Subject, month_start_ms: u64, total: u64, nanos: u64) {
        self.change_usage(subject, month_start_ms, nanos, |used| {
            used.max(total.min(MOST_PER_MONTH))
        });
    }

    fn change_usage(&self, subject: Subject, month_start_ms: u64, nanos: u64, change: impl Fn(u64) -> u64) {
        while let Some(slot) = self.find(subject) {
            let Some(reading) = slot.read(subject.tag) else {
                continue;
            };
            if slot.change_usage(reading, month_number(reading.anchor, month_start_ms), &change) {
                slot.touch(nanos);
                return;
            }
        }
    }

    /// The subject's slot, looked up in each call: it may change hands at any moment.
    fn find(&self, subject: Subject) -> Option<&Slot> {
        self.group(subject)
            .iter()
            .find(|slot| slot.belongs_to(subject.tag))
    }

    fn group(&self, subject: Subject) -> &[Slot] {
        &self.mapped.slots()[subject.first..subject.first + GROUP]
    }

    fn claim(&self, subject: Subject, nanos: u64) -> Option<&Slot> {
        let _lock = self.mapped.lock();
        self.claim_locked(subject, nanos)
    }

    /// Gives the subject a slot, with the lock held; its existing one if another process was faster.
    fn claim_locked(&self, subject: Subject, nanos: u64) -> Option<&Slot> {
        if let Some(slot) = self.find(subject) {
            return Some(slot);
        }
        let slots = self.group(subject);
        let free = slots.iter().filter(|slot| slot.is_free());
        free.chain(slots.iter())
            .find(|slot| slot.change_owner(subject.tag, nanos))
    }
}

/// Time that restores one request (ns).
fn interval(per_minute: u32) -> u64 {
    60_000_000_000 / u64::from(per_minute.clamp(1, MOST_PER_MINUTE))
}

/// Capacity of a bucket (ns).
fn depth(per_minute: u32) -> u64 {
    interval(per_minute) * u64::from(per_minute)
}

/// Time that one request takes from a bucket (ns).
fn cost(per_minute: u32, weight: Weight) -> u64 {
    match weight {
        Weight::Whole => interval(per_minute),
        Weight::Tenth => interval(per_minute) / 10,
    }
}

/// The number, from 1, of the month that contains `at_ms`; month 1 began at `anchor_ms`.
fn month_number(anchor_ms: u64, at_ms: u64) -> u64 {
    at_ms.saturating_sub(anchor_ms) / MONTH_MS + 1
}

/// Admits in the subject's slot; `None` if the slot has changed hands.
fn admit_in(slot: &Slot, tag: u64, limit: Limit, weight: Weight, now: Now) -> Option<Standing> {
    let mut month_start_ms = 0;
    let mut over = false;
    if limit.per_month > 0 {
        let reading = slot.read(tag)?;
        if reading.month() == 0 {
            return Some(Standing::of(Verdict::Unloaded, limit, Taking::default()));
        }
        let number = month_number(reading.anchor, now.wall_ms);
        month_start_ms = reading.anchor + (number - 1) * MONTH_MS;
        over = used_in(reading, number) >= limit.per_month;
    }
    let (verdict, taking) = if over {
        (Verdict::OverMonth, slot.look(limit.per_minute, now.nanos))
    } else if limit.per_minute == 0 {
        slot.touch(now.nanos);
        (Verdict::Admitted, Taking::default())
    } else {
        let taking = slot.take(
            tag,
            depth(limit.per_minute),
            cost(limit.per_minute, weight),
            now.nanos,
        )?;
        let passed = taking.wait_nanos == 0;
        (
            if passed {
                Verdict::Admitted
            } else {
                Verdict::OverMinute
            },
            taking,
        )
    };
    let mut standing = Standing::of(verdict, limit, taking);
    standing.month_start_ms = month_start_ms;
    if over {
        let left_ms = (month_start_ms + MONTH_MS).saturating_sub(now.wall_ms);
        standing.retry_seconds = left_ms.div_ceil(1000).max(1);
    }
    Some(standing)
}

/// Characters used in a month: 0 if the slot still counts an earlier one.
fn used_in(reading: Reading, number: u64) -> u64 {
    if reading.month() < number {
        0
    } else {
        reading.characters()
    }
}

impl Standing {
    fn of(verdict: Verdict, limit: Limit, taking: Taking) -> Self {
        let nanos = interval(limit.per_minute);
        let room = (nanos * u64::from(limit.per_minute)).saturating_sub(taking.used_nanos);
        Self {
            verdict,
            remaining: (room / nanos) as u32,
            full_in_seconds: taking.used_nanos.div_ceil(1_000_000_000),
            retry_seconds: taking.wait_nanos.div_ceil(1_000_000_000),
            month_start_ms: 0,
        }
    }

    /// Standing of a subject without a slot: as after its first request.
    fn uncounted(verdict: Verdict, limit: Limit) -> Self {
        let used_nanos = if limit.per_minute == 0 {
            0
        } else {
            interval(limit.per_minute)
        };
        let taking = Taking {
            used_nanos,
            wait_nanos: 0,
        };
        Self::of(verdict, limit, taking)
    }
}
