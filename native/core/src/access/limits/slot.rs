//! One subject's slot of the mapped file: its words, and the atomic operations on them.
//!
//! Every load and every change is sequentially consistent: values read between two reads of the same owner
//! belong to that owner.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// Idle time after which a slot may go to another subject (ns); longer than storing its usage takes.
pub const IDLE_NANOS: u64 = 60_000_000_000;

/// As [`IDLE_NANOS`], for a slot without usage to be stored: a stranger may have as many addresses as there
/// are slots, and takes each only for as long as its bucket is not full.
pub const SHORT_IDLE_NANOS: u64 = 1_000_000_000;

const CHARACTER_BITS: u32 = 40;
const MONTH_BITS: u32 = 12;
const CHARACTER_MASK: u64 = (1 << CHARACTER_BITS) - 1;
const MONTH_MASK: u64 = (1 << MONTH_BITS) - 1;

/// One slot; all zeros means free.
#[derive(Default)]
#[repr(C, align(64))]
pub struct Slot {
    /// The subject's tag; 0: free.
    owner: AtomicU64,
    /// When the bucket is full again (ns of the machine's clock): GCRA's theoretical arrival time. It grows
    /// with every request and with every change of owner, so it also distinguishes owners.
    bucket: AtomicU64,
    /// Count of owners (12 bits), number of the month (12 bits; 0: usage not loaded), characters (40 bits).
    usage: AtomicU64,
    /// When month 1 began (ms since 1970); changed only with the file locked.
    anchor: AtomicU64,
    /// When it was last used (ns), if `bucket` does not show it.
    touched: AtomicU64,
    reserved: [AtomicU64; 3],
}

/// Number of the month that a usage counts; 0: usage not loaded.
fn month_of(usage: u64) -> u64 {
    usage >> CHARACTER_BITS & MONTH_MASK
}

/// A slot's usage, read under one owner.
#[derive(Clone, Copy)]
pub struct Reading {
    usage: u64,
    /// When month 1 began (ms since 1970).
    pub anchor: u64,
}

impl Reading {
    /// Number of the counted month; 0: usage not loaded.
    pub fn month(self) -> u64 {
        month_of(self.usage)
    }

    /// Characters in that month.
    pub fn characters(self) -> u64 {
        self.usage & CHARACTER_MASK
    }

    fn with(self, month: u64, characters: u64) -> u64 {
        let owners = self.usage >> (CHARACTER_BITS + MONTH_BITS);
        owners << (CHARACTER_BITS + MONTH_BITS) | month.min(MONTH_MASK) << CHARACTER_BITS | characters
    }
}

/// State of a bucket after a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taking {
    /// Time until it is full again (ns).
    pub used_nanos: u64,
    /// Time until the request would be admitted (ns); 0: it was admitted.
    pub wait_nanos: u64,
}

impl Slot {
    pub fn belongs_to(&self, tag: u64) -> bool {
        self.owner.load(SeqCst) == tag
    }

    pub fn is_free(&self) -> bool {
        self.belongs_to(0)
    }

    /// Takes `cost` (ns) from the owner's bucket with capacity `depth`; `None` if the slot has changed hands.
    /// A slot that no subject may claim belongs to tag 0.
    pub fn take(&self, tag: u64, depth: u64, cost: u64, nanos: u64) -> Option<Taking> {
        loop {
            let full_at = self.bucket.load(SeqCst);
            if !self.belongs_to(tag) {
                return None;
            }
            let used_nanos = full_at.saturating_sub(nanos);
            let used_after = used_nanos + cost;
            if used_after > depth {
                let wait_nanos = used_after - depth;
                return Some(Taking {
                    used_nanos,
                    wait_nanos,
                });
            }
            // `full_at` was read under this owner, and never recurs under another.
            let next = nanos + used_after;
            if self
                .bucket
                .compare_exchange(full_at, next, SeqCst, SeqCst)
                .is_ok()
            {
                return Some(Taking {
                    used_nanos: used_after,
                    wait_nanos: 0,
                });
            }
        }
    }

    /// Takes `cost` (ns) from the owner's bucket even if it holds less: it may go into debt. False if the
    /// slot has changed hands.
    pub fn spend(&self, tag: u64, cost: u64, nanos: u64) -> bool {
        loop {
            let full_at = self.bucket.load(SeqCst);
            if !self.belongs_to(tag) {
                return false;
            }
            let next = full_at.max(nanos).saturating_add(cost);
            if self
                .bucket
                .compare_exchange(full_at, next, SeqCst, SeqCst)
                .is_ok()
            {
                return true;
            }
        }
    }

    /// State of the bucket, without taking from it.
    pub fn look(&self, per_minute: u32, nanos: u64) -> Taking {
        let used_nanos = self.bucket.load(SeqCst).saturating_sub(nanos);
        Taking {
            used_nanos: if per_minute == 0 { 0 } else { used_nanos },
            wait_nanos: 0,
        }
    }

    /// Returns `cost` (ns) to the owner's bucket.
    pub fn give_back(&self, tag: u64, cost: u64) {
        loop {
            let full_at = self.bucket.load(SeqCst);
            if !self.belongs_to(tag) {
                return;
            }
            let earlier = full_at.saturating_sub(cost);
            if self
                .bucket
                .compare_exchange(full_at, earlier, SeqCst, SeqCst)
                .is_ok()
            {
                return;
            }
        }
    }

    /// Records a use that the bucket does not show.
    pub fn touch(&self, nanos: u64) {
        self.touched.store(nanos, SeqCst);
    }

    /// The owner's usage; `None` if the slot has changed hands.
    pub fn read(&self, tag: u64) -> Option<Reading> {
        let usage = self.usage.load(SeqCst);
        let anchor = self.anchor.load(SeqCst);
        self.belongs_to(tag).then_some(Reading { usage, anchor })
    }

    /// Changes the characters of month `number` from `reading`. True if done, or if nothing needs to change
    /// because usage is not loaded or a later month has begun; false: read again.
    pub fn change_usage(&self, reading: Reading, number: u64, change: impl Fn(u64) -> u64) -> bool {
        let month = reading.month();
        if month == 0 || month > number {
            return true;
        }
        let used = if month == number { reading.characters() } else { 0 };
        let next = reading.with(number, change(used));
        self.usage
            .compare_exchange(reading.usage, next, SeqCst, SeqCst)
            .is_ok()
    }

    /// Sets the usage of month 1, which begins at `anchor_ms`, unless it is loaded; the file must be locked.
    pub fn load(&self, anchor_ms: u64, characters: u64, nanos: u64) {
        let usage = self.usage.load(SeqCst);
        let reading = Reading {
            usage,
            anchor: anchor_ms,
        };
        if reading.month() != 0 {
            return;
        }
        self.anchor.store(anchor_ms, SeqCst);
        self.usage.store(reading.with(1, characters), SeqCst);
        self.touch(nanos);
    }

    /// Gives the slot to the subject `tag` unless it is in use; the file must be locked. A process killed
    /// anywhere in here leaves the slot to its former owner, or free.
    pub fn change_owner(&self, tag: u64, nanos: u64) -> bool {
        let full_at = self.bucket.load(SeqCst);
        let used_at = full_at.max(self.touched.load(SeqCst));
        let has_usage = month_of(self.usage.load(SeqCst)) != 0;
        let idle = if has_usage { IDLE_NANOS } else { SHORT_IDLE_NANOS };
        if !self.never_used() && used_at.saturating_add(idle) > nanos {
            return false;
        }
        let former = self.owner.swap(0, SeqCst);
        // A request of the former owner since then has moved the bucket: the owner stays.
        let next = nanos.max(full_at + 1);
        if self
            .bucket
            .compare_exchange(full_at, next, SeqCst, SeqCst)
            .is_err()
        {
            self.owner.store(former, SeqCst);
            return false;
        }
        let owners = (self.usage.load(SeqCst) >> (CHARACTER_BITS + MONTH_BITS)) + 1;
        self.usage.store(owners << (CHARACTER_BITS + MONTH_BITS), SeqCst);
        self.anchor.store(0, SeqCst);
        self.touched.store(nanos, SeqCst);
        self.owner.store(tag, SeqCst);
        true
    }

    fn never_used(&self) -> bool {
        self.bucket.load(SeqCst) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(slot: &Slot) -> u64 {
        slot.usage.load(SeqCst) >> 52
    }

    #[test]
    fn a_machine_that_has_just_started_gives_slots_away() {
        let slot = Slot::default();
        assert!(slot.change_owner(7, 1));
        assert!(!slot.change_owner(8, 2), "it has an owner");
        assert!(slot.belongs_to(7));
    }

    /// Otherwise a charge under way when the slot changes hands would go to the next owner.
    #[test]
    fn usage_tells_its_owners_apart_whatever_they_used() {
        let slot = Slot::default();
        let idle = 2 * IDLE_NANOS;
        for owner in 1..=3 {
            assert!(slot.change_owner(owner, owner * idle));
            assert_eq!(owners(&slot), owner);
            slot.load(1_000, 5, owner * idle);
            let loaded = slot.read(owner).expect("its owner");
            assert_eq!(
                (loaded.month(), loaded.characters(), loaded.anchor),
                (1, 5, 1_000)
            );
            assert!(slot.change_usage(loaded, 2, |used| used + 7));
            let charged = slot.read(owner).expect("its owner");
            assert_eq!(
                (charged.month(), charged.characters()),
                (2, 7),
                "a month begins empty"
            );
            assert!(!slot.change_usage(loaded, 2, |_| 9), "what was read has changed");
            assert!(slot.change_usage(loaded, 0, |_| 9), "a month that is over");
            assert!(slot.change_usage(charged, 2, |_| CHARACTER_MASK));
            let most = slot.read(owner).expect("its owner");
            assert!(slot.change_usage(most, u64::MAX, |_| CHARACTER_MASK));
            let last = slot.read(owner).expect("its owner");
            assert_eq!((last.month(), last.characters()), (4095, CHARACTER_MASK));
            assert_eq!(owners(&slot), owner);
            assert!(slot.read(owner + 1).is_none());
        }
    }
}
