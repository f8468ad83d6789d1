//! Limits that hold over every process of a machine: requests a minute as a token bucket (GCRA, ITU-T I.371),
//! characters a month as a sum. They lie in one mapped file; every worker changes them with atomics.
//!
//! **Layout.** A header (magic, secret seed), then three areas of 2^16 slots of 64 bytes: one for keys, one
//! for addresses, one for networks, so that a flood of addresses takes neither a key's slot nor a network's.
//! A subject (kind and bytes) is known by a 64-bit SipHash under the seed; nobody who does not know the seed
//! can aim at a slot, and two of 65,536 subjects share a hash with a probability of 2^-33. Its slot is one of
//! the 16 of its group. After the areas stands one slot for each kind of limit: the crowd's.
//!
//! **Hits take no lock.** A slot's `bucket` is the time at which it is full again, and only ever moves
//! forward while its owner changes: a compare-exchange from a value that was read while the owner stood there
//! cannot succeed once the slot is someone else's. So admission is exact however many processes hammer one
//! bucket.
//!
//! **A change of owner takes the file's lock**, which the kernel gives back when its holder dies. A process
//! killed at any instruction leaves a slot that is free, or one that still belongs to its former owner.
//!
//! **Eviction forgives nothing.** A slot may go to another subject once its bucket is full and it was not
//! charged for a minute: its usage is by then where the caller keeps it, and is loaded again at the next
//! sight. A group whose 16 slots are all busy has none for the 17th subject. A key then passes uncounted
//! ([`Verdict::Uncounted`]): nobody who pays is refused for want of room. An address is counted in its kind's
//! one bucket for all such newcomers, the crowd ([`Verdict::Crowded`]): no number of addresses ends a limit.
//!
//! **An address stands within its networks** ([`Address`]): their buckets are asked first, the widest one
//! before all, so that a network that is over its limit claims no slot for another of its addresses.

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
use file::Mapped;
use slot::{Reading, Slot, Taking};

/// Slots of one area.
const AREA_SLOTS: usize = 1 << 16;
/// Slots that subjects may claim.
const SLOTS: usize = 3 * AREA_SLOTS;
/// Slots that one subject may have.
const GROUP: usize = 16;
/// Groups of one area.
const AREA_GROUPS: usize = AREA_SLOTS / GROUP;
/// Kinds of limit, each with a crowd.
const KINDS: usize = 1 << 8;
/// Time after its last use until a slot may go to another subject (ns). Longer than usage takes to be stored.
pub const IDLE_NANOS: u64 = 60_000_000_000;
/// A month: 30 days (ms).
pub const MONTH_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// The largest number of requests a minute that a bucket can hold exactly to 0.002 %.
pub const MOST_PER_MINUTE: u32 = 1_000_000;
/// The largest number of characters a month that a slot can hold.
pub const MOST_PER_MONTH: u64 = (1 << 40) - 1;

/// The kind of subject that is a key; every other kind is an address under one of its limits.
pub const KEYS: u8 = 0;

/// A subject of limits, by its keyed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Subject {
    tag: u64,
    first: usize,
}

/// Limits of a subject; 0 is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Requests a minute, at most [`MOST_PER_MINUTE`]; the same number may come at once.
    pub per_minute: u32,
    /// Characters in a month, at most [`MOST_PER_MONTH`].
    pub per_month: u64,
}

/// A moment by both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The machine's monotonic clock, the same for all processes (ns).
    pub nanos: u64,
    /// Wall time since 1970 (ms).
    pub wall_ms: u64,
}

/// Share of a whole request that this one counts as.
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
    /// It passes, and was counted.
    Admitted,
    /// It passes uncounted: every slot of the group is busy.
    Uncounted,
    /// It passes, counted in the bucket of all addresses that found every slot busy.
    Crowded,
    /// The minute's requests are used up.
    OverMinute,
    /// The month's characters are used up.
    OverMonth,
    /// The month's usage is not known here: load it, then ask again.
    Unloaded,
    /// The minute's requests of a network that the address lies in are used up.
    OverNetwork,
    /// The minute's requests of all addresses that found every slot busy are used up.
    OverCrowd,
}

/// A verdict and what its answer tells the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The verdict.
    pub verdict: Verdict,
    /// Whole requests that would pass now.
    pub remaining: u32,
    /// Whole seconds until the bucket is full again, rounded up.
    pub full_in_seconds: u64,
    /// Whole seconds until a refused request would pass, at least 1; 0 when it was not refused.
    pub retry_seconds: u64,
    /// When the present month began (ms since 1970); 0 when months are not counted.
    pub month_start_ms: u64,
}

/// The limits of one machine, as one process has mapped them.
pub struct Limits {
    mapped: Mapped,
}

impl Limits {
    /// Makes the file at `path` again, with every bucket full and no usage known. What is mapped of a former
    /// file stays as it is. `seed` is 16 secret random bytes.
    pub fn create(path: &Path, seed: [u8; 16]) -> io::Result<()> {
        file::create(path, seed)
    }

    /// Maps the file that [`Limits::create`] made.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            mapped: Mapped::open(path)?,
        })
    }

    /// The subject that `kind` and `bytes` name.
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

    /// Counts one request of `subject`; nothing when it has no slot and finds none.
    fn admit_counted(&self, subject: Subject, limit: Limit, weight: Weight, now: Now) -> Option<Standing> {
        loop {
            let slot = self.find(subject).or_else(|| self.claim(subject, now.nanos))?;
            if let Some(standing) = admit_in(slot, subject.tag, limit, weight, now) {
                return Some(standing);
            }
        }
    }

    /// True once in `every` (ns) for `subject`, whichever process asks; always true while every slot of its
    /// group is busy.
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

    /// Undoes one [`Limits::admit`]: the request turned out not to count.
    pub fn give_back(&self, subject: Subject, per_minute: u32) {
        self.give_back_counted(subject, per_minute, Weight::Whole);
    }

    /// Gives a request back to the subject's slot; false when it has none.
    fn give_back_counted(&self, subject: Subject, per_minute: u32, weight: Weight) -> bool {
        let found = self.find(subject);
        if let (Some(slot), true) = (found, per_minute > 0) {
            slot.give_back(subject.tag, cost(per_minute, weight));
        }
        found.is_some()
    }

    /// Tells the usage that a store holds: `characters` in the month that began at `month_start_ms`. Months
    /// are counted from there. Changes nothing when the usage is known already.
    pub fn load(&self, subject: Subject, month_start_ms: u64, characters: u64, nanos: u64) {
        let _lock = self.mapped.lock();
        let slot = self.find(subject).or_else(|| self.claim_locked(subject, nanos));
        if let Some(slot) = slot {
            slot.load(month_start_ms.max(1), characters.min(MOST_PER_MONTH), nanos);
        }
    }

    /// Adds characters to the month that began at `month_start_ms`, when the subject's usage is known here.
    pub fn charge(&self, subject: Subject, month_start_ms: u64, characters: u64, nanos: u64) {
        self.change_usage(subject, month_start_ms, nanos, |used| {
            used.saturating_add(characters).min(MOST_PER_MONTH)
        });
    }

    /// Tells that a store holds `total` characters for the month that began at `month_start_ms`.
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

    /// The subject's slot. Nothing is kept from call to call: the slot may change hands at any moment.
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

    /// Gives the subject a slot, with the lock held; the one it has when another process was faster.
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

/// Time in which one request becomes free again (ns).
fn interval(per_minute: u32) -> u64 {
    60_000_000_000 / u64::from(per_minute.clamp(1, MOST_PER_MINUTE))
}

/// All that a bucket holds (ns).
fn depth(per_minute: u32) -> u64 {
    interval(per_minute) * u64::from(per_minute)
}

/// The time that one request takes out of a bucket (ns).
fn cost(per_minute: u32, weight: Weight) -> u64 {
    match weight {
        Weight::Whole => interval(per_minute),
        Weight::Tenth => interval(per_minute) / 10,
    }
}

/// The number, from 1, of the month that `at_ms` falls in, where month 1 began at `anchor_ms`.
fn month_number(anchor_ms: u64, at_ms: u64) -> u64 {
    at_ms.saturating_sub(anchor_ms) / MONTH_MS + 1
}

/// Admits in the subject's slot; nothing when the slot has changed hands.
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

/// Characters used in a month: none when the slot still counts for an earlier one.
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
        let refused = taking.wait_nanos > 0;
        Self {
            verdict,
            remaining: (room / nanos) as u32,
            full_in_seconds: taking.used_nanos.div_ceil(1_000_000_000),
            retry_seconds: if refused {
                taking.wait_nanos.div_ceil(1_000_000_000)
            } else {
                0
            },
            month_start_ms: 0,
        }
    }

    /// Verdict where every slot is busy: as if the request were the subject's first.
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
