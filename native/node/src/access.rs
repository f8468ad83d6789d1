//! Binding of keys and limits. Times are microseconds of the machine's monotonic clock (the same for every
//! process) and milliseconds since 1970.

use std::path::Path;

use fusegate_core::access::admission::{self, Decision, Delta, Outcome};
use fusegate_core::access::keys::{self, Hash, Record, Status};
use fusegate_core::access::limits::{Limit, Limits, Now, Verdict, Weight};
use napi::bindgen_prelude::{Buffer, Error, Float64ArraySlice, Result};
use napi_derive::napi;

/// Creates the file of the limits at `path` again: every bucket full, no usage known. `seed` is 16 secret
/// random bytes. Throws if the file cannot be written.
#[napi]
pub fn create_limits(path: String, seed: &[u8]) -> Result<()> {
    let seed = seed.try_into().map_err(|_| wrong("a seed has 16 bytes"))?;
    Ok(Limits::create(Path::new(&path), seed)?)
}

/// The API key that encodes 32 bytes.
#[napi]
pub fn write_key(raw: &[u8]) -> Result<String> {
    let raw = raw.try_into().map_err(|_| wrong("a key is made of 32 bytes"))?;
    Ok(keys::write(raw))
}

/// SHA-256 of an API key's characters; null if its form or checksum is wrong.
#[napi]
pub fn hash_key(key: String) -> Option<Buffer> {
    keys::hash(key.as_bytes()).map(|hash| hash.to_vec().into())
}

/// Limits of a tier; 0: no limit.
#[napi(object)]
pub struct TierLimit {
    /// Requests a minute, at most 1,000,000.
    pub requests_per_minute: u32,
    /// Characters a month, at most 2^40 - 1.
    pub characters_per_month: f64,
}

/// Usage of a key on one day (UTC).
#[napi(object)]
pub struct DayUse {
    /// Days since 1970.
    pub day: u32,
    /// Requests that were admitted.
    pub requests: f64,
    /// Characters charged for them.
    pub characters: f64,
    /// Requests that a limit refused.
    pub refused: f64,
}

/// Usage that was counted and is not stored yet.
#[napi(object)]
pub struct UsageDelta {
    /// The kind of limit (one byte, 0: keys), then the key's SHA-256 or the address.
    pub subject: Buffer,
    /// When its month began (ms since 1970).
    pub month_start_ms: f64,
    /// Characters of the month.
    pub characters: f64,
    /// Usage of each day, of keys only; a day occurs once.
    pub days: Vec<DayUse>,
}

/// Decision about a request.
#[napi]
pub enum AdmitOutcome {
    /// Admitted.
    Admitted,
    /// Admitted, but not counted, as no slot is free.
    Uncounted,
    /// Over the minute's requests.
    OverMinute,
    /// Over the month's characters.
    OverMonth,
    /// Load the subject's usage, then ask again.
    Unloaded,
    /// A well-formed key that is unknown here: look it up, then ask again.
    Unknown,
    /// No key, or a mistyped one.
    Malformed,
    /// The key has expired.
    Expired,
    /// The key was revoked.
    Revoked,
    /// The key is suspended.
    Suspended,
    /// Admitted; counted in the bucket shared by all addresses without a slot.
    Crowded,
    /// Over the minute's requests of the address's network.
    OverNetwork,
    /// Over the minute's requests shared by all addresses without a slot.
    OverCrowd,
}

impl From<Outcome> for AdmitOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Limited(Verdict::Admitted) => Self::Admitted,
            Outcome::Limited(Verdict::Uncounted) => Self::Uncounted,
            Outcome::Limited(Verdict::OverMinute) => Self::OverMinute,
            Outcome::Limited(Verdict::OverMonth) => Self::OverMonth,
            Outcome::Limited(Verdict::Unloaded) => Self::Unloaded,
            Outcome::Unknown => Self::Unknown,
            Outcome::Malformed => Self::Malformed,
            Outcome::Expired => Self::Expired,
            Outcome::Revoked => Self::Revoked,
            Outcome::Suspended => Self::Suspended,
            Outcome::Limited(Verdict::Crowded) => Self::Crowded,
            Outcome::Limited(Verdict::OverNetwork) => Self::OverNetwork,
            Outcome::Limited(Verdict::OverCrowd) => Self::OverCrowd,
        }
    }
}

/// Indexes of the facts that a decision sets.
#[napi]
pub enum AdmitFact {
    /// Requests left.
    Remaining,
    /// Seconds until the bucket is full.
    FullInSeconds,
    /// Seconds until a refused request would be admitted.
    RetrySeconds,
    /// The tier's index.
    Tier,
    /// When the month began (ms since 1970); 0 if no month is counted.
    MonthStartMs,
}

/// Number of the facts.
#[napi]
pub const ADMIT_FACTS: u32 = 5;

/// State of a key.
#[napi]
pub enum KeyStatus {
    /// Active.
    Active,
    /// Refused until it is resumed.
    Suspended,
    /// Refused for good.
    Revoked,
}

/// Keys and limits of one process; all processes that open the same file share the limits.
///
/// Both `admit` functions set `facts` if a limit was checked, whatever the outcome. `facts` has room for
/// [`ADMIT_FACTS`] numbers, at the indexes of [`AdmitFact`].
#[napi]
pub struct Access {
    inner: admission::Access,
}

#[napi]
impl Access {
    /// Opens the file that `createLimits` made. `tiers`: limits of keys, by tier index. Throws if the file
    /// cannot be opened.
    #[napi(constructor)]
    pub fn new(path: String, tiers: Vec<TierLimit>) -> Result<Self> {
        let limits = Limits::open(Path::new(&path))?;
        let tiers = tiers
            .iter()
            .map(|tier| limit(tier.requests_per_minute, tier.characters_per_month));
        Ok(Self {
            inner: admission::Access::new(limits, tiers.collect()),
        })
    }

    /// Decides about a request with a key and counts it.
    #[napi]
    pub fn admit_key(
        &mut self,
        key: String,
        micros: f64,
        now_ms: f64,
        facts: Float64ArraySlice<'_>,
    ) -> AdmitOutcome {
        told(self.inner.admit_key(key.as_bytes(), now(micros, now_ms)), facts)
    }

    /// Decides about a request of an address under the limit `kind` (1 to 255) and counts it. `head`: a HEAD
    /// request, which counts a tenth. `loaded`: an earlier call returned `Unloaded`, and the usage was loaded
    /// since.
    #[napi]
    #[allow(
        clippy::too_many_arguments,
        reason = "an object would cost more than the check"
    )]
    pub fn admit_address(
        &self,
        kind: u8,
        address: &[u8],
        requests_per_minute: u32,
        characters_per_month: f64,
        head: bool,
        loaded: bool,
        micros: f64,
        now_ms: f64,
        facts: Float64ArraySlice<'_>,
    ) -> AdmitOutcome {
        let limit = limit(requests_per_minute, characters_per_month);
        let (weight, moment) = (weight(head), now(micros, now_ms));
        let decision = if loaded {
            self.inner.admit_loaded(kind, address, limit, weight, moment)
        } else {
            self.inner.admit_address(kind, address, limit, weight, moment)
        };
        told(decision, facts)
    }

    /// Counts `count` more for an address that `admitAddress` admitted; its buckets may go into debt.
    #[napi]
    pub fn spend(&self, kind: u8, address: &[u8], requests_per_minute: u32, count: u32, micros: f64) {
        let moment = now(micros, 0.0);
        self.inner
            .spend(kind, address, requests_per_minute, count, moment);
    }

    /// Undoes one `admitAddress` for a request that turned out not to count.
    #[napi]
    pub fn give_back(&self, kind: u8, address: &[u8], requests_per_minute: u32) {
        self.inner.give_back(kind, address, requests_per_minute);
    }

    /// True once per `everyMs` for a subject of the kind, across all processes of the machine.
    #[napi]
    pub fn first_in(&self, kind: u8, subject: &[u8], every_ms: f64, micros: f64) -> bool {
        let nanos = now(micros, 0.0).nanos;
        self.inner.first_in(kind, subject, (every_ms * 1e6) as u64, nanos)
    }

    /// Adds a key's record. `countedAs`: hash of the key whose limits and usage it shares, for most keys its
    /// own. Throws on an unknown tier.
    #[napi]
    pub fn know_key(
        &mut self,
        hash: &[u8],
        counted_as: &[u8],
        tier: u32,
        issued_at_ms: f64,
        expires_at_ms: Option<f64>,
        status: KeyStatus,
    ) -> Result<()> {
        let status = match status {
            KeyStatus::Active => Status::Active,
            KeyStatus::Suspended => Status::Suspended,
            KeyStatus::Revoked => Status::Revoked,
        };
        let record = Record {
            tier: tier as usize,
            counted_as: hash_of(counted_as)?,
            issued_at_ms: issued_at_ms as u64,
            expires_at_ms: expires_at_ms.map(|at_ms| at_ms as u64),
            status,
        };
        let known = self.inner.know(hash_of(hash)?, record);
        if known { Ok(()) } else { Err(wrong("no such tier")) }
    }

    /// Forgets a key: its record is looked up again.
    #[napi]
    pub fn forget_key(&mut self, hash: &[u8]) -> Result<()> {
        self.inner.forget(&hash_of(hash)?);
        Ok(())
    }

    /// Forgets every key.
    #[napi]
    pub fn forget_keys(&mut self) {
        self.inner.forget_all();
    }

    /// The subject of a key's usage, even if the key was forgotten; null if the table does not have it.
    #[napi]
    pub fn usage_subject(&self, key: String) -> Option<Buffer> {
        self.inner.usage_subject(key.as_bytes()).map(Buffer::from)
    }

    /// Loads the usage from the store: `characters` in the month that began at `monthStartMs`.
    #[napi]
    pub fn load_usage(&self, subject: &[u8], month_start_ms: f64, characters: f64, micros: f64) {
        let (month, count, moment) = (month_start_ms as u64, characters as u64, nanos(micros));
        self.inner.load(subject, month, count, moment);
    }

    /// Charges a key's holder; false if the process does not know the key (any more): then nothing is
    /// charged.
    #[napi]
    pub fn charge_key(
        &mut self,
        key: String,
        month_start_ms: f64,
        characters: f64,
        micros: f64,
        now_ms: f64,
    ) -> bool {
        let (month, count, moment) = (month_start_ms as u64, characters as u64, now(micros, now_ms));
        self.inner.charge_key(key.as_bytes(), month, count, moment)
    }

    /// Charges an address under the limit `kind`.
    #[napi]
    pub fn charge_address(&mut self, kind: u8, address: &[u8], month_start_ms: f64, count: f64, micros: f64) {
        let (month, count, moment) = (month_start_ms as u64, count as u64, nanos(micros));
        self.inner.charge_address(kind, address, month, count, moment);
    }

    /// Takes the charges of this process since the last call, to be stored.
    #[napi]
    pub fn take_charged(&mut self) -> Vec<UsageDelta> {
        self.inner.take_charged().into_iter().map(delta).collect()
    }

    /// Takes back a charge that was not stored; the next `takeCharged` returns it again.
    #[napi]
    pub fn owe(&mut self, delta: UsageDelta) {
        self.inner.owe(Delta {
            subject: delta.subject.to_vec(),
            month_start_ms: delta.month_start_ms as u64,
            characters: delta.characters as u64,
            days: delta.days.iter().map(day_of).collect(),
        });
    }

    /// Raises a month's total to that of the store, which other machines may have added to.
    #[napi]
    pub fn raise_usage(&self, subject: &[u8], month_start_ms: f64, total: f64, micros: f64) {
        let (month, count, moment) = (month_start_ms as u64, total as u64, nanos(micros));
        self.inner.raise(subject, month, count, moment);
    }
}

fn delta(delta: Delta) -> UsageDelta {
    UsageDelta {
        subject: delta.subject.into(),
        month_start_ms: delta.month_start_ms as f64,
        characters: delta.characters as f64,
        days: delta.days.iter().map(told_day).collect(),
    }
}

fn told_day(of: &admission::DayUse) -> DayUse {
    DayUse {
        day: of.day,
        requests: of.requests as f64,
        characters: of.characters as f64,
        refused: of.refused as f64,
    }
}

fn day_of(told: &DayUse) -> admission::DayUse {
    admission::DayUse {
        day: told.day,
        requests: told.requests as u64,
        characters: told.characters as u64,
        refused: told.refused as u64,
    }
}

fn limit(per_minute: u32, per_month: f64) -> Limit {
    Limit {
        per_minute,
        per_month: per_month as u64,
    }
}

fn weight(head: bool) -> Weight {
    if head { Weight::Tenth } else { Weight::Whole }
}

fn nanos(micros: f64) -> u64 {
    (micros * 1000.0) as u64
}

fn now(micros: f64, now_ms: f64) -> Now {
    Now {
        nanos: nanos(micros),
        wall_ms: now_ms as u64,
    }
}

fn told(decision: Decision, mut facts: Float64ArraySlice<'_>) -> AdmitOutcome {
    if let Some(standing) = decision.standing {
        // SAFETY: no JavaScript runs before this function returns, so nothing else reads or writes the array.
        let facts = unsafe { facts.as_mut() };
        let values = [
            (AdmitFact::Remaining, f64::from(standing.remaining)),
            (AdmitFact::FullInSeconds, standing.full_in_seconds as f64),
            (AdmitFact::RetrySeconds, standing.retry_seconds as f64),
            (AdmitFact::Tier, decision.tier as f64),
            (AdmitFact::MonthStartMs, decision.month_start_ms as f64),
        ];
        for (fact, value) in values {
            if let Some(place) = facts.get_mut(fact as usize) {
                *place = value;
            }
        }
    }
    decision.outcome.into()
}

fn hash_of(bytes: &[u8]) -> Result<Hash> {
    bytes.try_into().map_err(|_| wrong("a key's hash has 32 bytes"))
}

fn wrong(sentence: &str) -> Error {
    Error::from_reason(sentence)
}
