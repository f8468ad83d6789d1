//! Who is let in, under whose limits, and what is counted for it.

use std::path::PathBuf;

use super::*;
use crate::access::limits::Verdict;

/// Access with limits on a file of its own, removed with it.
struct Scratch {
    access: Access,
    path: PathBuf,
}

impl Scratch {
    /// Two tiers: 2 requests a minute without a monthly limit, and 60 with 100 characters a month.
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fusegate-access-{}-{name}", std::process::id()));
        Limits::create(&path, *b"sixteen byte key").expect("a writable temporary folder");
        let limits = Limits::open(&path).expect("the file just made");
        let tiers = vec![limit(2, 0), limit(60, 100)];
        Self {
            access: Access::new(limits, tiers),
            path,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn limit(per_minute: u32, per_month: u64) -> Limit {
    Limit {
        per_minute,
        per_month,
    }
}

/// Midnight of a day (UTC), in ms since 1970.
const MIDNIGHT_MS: u64 = 20_000 * DAY_MS;
const SECOND: u64 = 1_000_000_000;

/// The moment `ms` milliseconds after midnight.
fn after_midnight(ms: u64) -> Now {
    Now {
        nanos: 1_000 * SECOND + ms * 1_000_000,
        wall_ms: MIDNIGHT_MS + ms,
    }
}

/// A key by its number, and its hash.
fn key(number: u8) -> (String, Hash) {
    let key = keys::write(&[number; 32]);
    let hash = keys::hash(key.as_bytes()).expect("a key");
    (key, hash)
}

/// The record of a key that was issued at midnight.
fn record(tier: usize, counted_as: Hash) -> Record {
    Record {
        tier,
        counted_as,
        issued_at_ms: MIDNIGHT_MS,
        expires_at_ms: None,
        status: Status::Active,
    }
}

/// Bytes of a key's usage.
fn subject_of(hash: Hash) -> UsageSubject {
    [&[KEYS], &hash[..]].concat()
}

/// The charges to store, ordered by subject and month.
fn taken(access: &mut Access) -> Vec<Delta> {
    let mut deltas = access.take_charged();
    deltas.sort_by_key(|each| (each.subject.clone(), each.month_start_ms));
    deltas
}

#[test]
fn only_a_key_that_is_known_and_in_force_is_admitted() {
    let mut scratch = Scratch::new("force");
    let access = &mut scratch.access;
    let now = after_midnight(5_000);
    let (raw, hash) = key(1);
    let mut mistyped = raw.clone().into_bytes();
    mistyped[20] ^= 1;
    for malformed in [&mistyped[..], b"", b"fg_", &raw.as_bytes()[1..]] {
        let decision = access.admit_key(malformed, now);
        assert_eq!(decision.outcome, Outcome::Malformed);
        assert_eq!(
            (decision.standing, decision.tier, decision.month_start_ms),
            (None, 0, 0)
        );
    }
    let outcome = |access: &mut Access, record: Record| {
        assert!(access.know(hash, record));
        access.admit_key(raw.as_bytes(), now).outcome
    };
    assert_eq!(access.admit_key(raw.as_bytes(), now).outcome, Outcome::Unknown);
    let active = record(0, hash);
    for (status, refused) in [
        (Status::Revoked, Outcome::Revoked),
        (Status::Suspended, Outcome::Suspended),
    ] {
        assert_eq!(outcome(access, Record { status, ..active }), refused);
    }
    let until = |at_ms| Record {
        expires_at_ms: Some(at_ms),
        ..active
    };
    assert_eq!(outcome(access, until(now.wall_ms)), Outcome::Expired);
    assert_eq!(outcome(access, until(now.wall_ms - 1)), Outcome::Expired);
    assert!(
        access.take_charged().is_empty(),
        "nothing is counted for a key that is not in force"
    );
    assert_eq!(
        outcome(access, until(now.wall_ms + 1)),
        Outcome::Limited(Verdict::Admitted)
    );
    assert_eq!(outcome(access, active), Outcome::Limited(Verdict::Admitted));
}

#[test]
fn a_key_that_was_forgotten_is_unknown_until_it_is_read_again() {
    let mut scratch = Scratch::new("forgotten");
    let access = &mut scratch.access;
    let now = after_midnight(0);
    let both = [key(1), key(2)];
    let know = |access: &mut Access| {
        for (_, hash) in &both {
            assert!(access.know(*hash, record(0, *hash)));
        }
    };
    let known = |access: &mut Access| {
        both.each_ref()
            .map(|(raw, _)| access.admit_key(raw.as_bytes(), now).outcome != Outcome::Unknown)
    };
    assert_eq!(known(access), [false, false]);
    know(access);
    assert_eq!(known(access), [true, true]);
    access.forget(&both[0].1);
    assert_eq!(known(access), [false, true]);
    know(access);
    assert_eq!(known(access), [true, true]);
    access.forget_all();
    assert_eq!(known(access), [false, false]);
}

#[test]
fn whose_usage_a_key_shares_is_known_after_it_was_forgotten() {
    let mut scratch = Scratch::new("holder");
    let access = &mut scratch.access;
    let [(_, first), (raw, second), (other, _)] = [key(1), key(2), key(3)];
    assert!(access.know(second, record(0, first)));
    access.forget(&second);
    assert_eq!(access.usage_subject(raw.as_bytes()), Some(subject_of(first)));
    access.forget_all();
    assert_eq!(access.usage_subject(raw.as_bytes()), Some(subject_of(first)));
    assert_eq!(access.usage_subject(other.as_bytes()), None);
}

#[test]
fn a_key_of_a_tier_that_is_not_there_is_not_taken_in() {
    let mut scratch = Scratch::new("tiers");
    let access = &mut scratch.access;
    let (raw, hash) = key(1);
    assert!(!access.know(hash, record(2, hash)));
    assert_eq!(
        access.admit_key(raw.as_bytes(), after_midnight(0)).outcome,
        Outcome::Unknown
    );
    assert!(access.know(hash, record(1, hash)));
    assert_eq!(access.admit_key(raw.as_bytes(), after_midnight(0)).tier, 1);
}

#[test]
fn a_key_has_the_limits_of_its_tier_and_shares_them_with_the_one_that_it_replaced() {
    let mut scratch = Scratch::new("shared");
    let access = &mut scratch.access;
    let now = after_midnight(0);
    let [(first, first_hash), (second, second_hash), (other, other_hash)] = [key(1), key(2), key(3)];
    access.know(first_hash, record(0, first_hash));
    access.know(second_hash, record(0, first_hash));
    access.know(other_hash, record(0, other_hash));
    let outcome = |access: &mut Access, raw: &str| access.admit_key(raw.as_bytes(), now).outcome;
    assert_eq!(outcome(access, &first), Outcome::Limited(Verdict::Admitted));
    assert_eq!(outcome(access, &second), Outcome::Limited(Verdict::Admitted));
    assert_eq!(outcome(access, &first), Outcome::Limited(Verdict::OverMinute));
    assert_eq!(outcome(access, &second), Outcome::Limited(Verdict::OverMinute));
    assert_eq!(outcome(access, &other), Outcome::Limited(Verdict::Admitted));
    assert_eq!(
        access.usage_subject(second.as_bytes()),
        Some(subject_of(first_hash))
    );
    assert_eq!(
        access.usage_subject(other.as_bytes()),
        Some(subject_of(other_hash))
    );
    let day = |requests, refused| DayUse {
        day: 20_000,
        requests,
        characters: 0,
        refused,
    };
    let all = taken(access);
    let of = |hash| {
        all.iter()
            .find(|each| each.subject == subject_of(hash))
            .map(|each| each.days.clone())
    };
    assert_eq!(of(first_hash), Some(vec![day(2, 2)]));
    assert_eq!(of(other_hash), Some(vec![day(1, 0)]));
    assert_eq!(of(second_hash), None);
}

#[test]
fn months_are_counted_from_the_issue_of_a_key() {
    let mut scratch = Scratch::new("months");
    let access = &mut scratch.access;
    let (raw, hash) = key(1);
    access.know(hash, record(0, hash));
    for (ms, months) in [
        (0, 0),
        (MONTH_MS - 1, 0),
        (MONTH_MS, 1),
        (2 * MONTH_MS - 1, 1),
        (2 * MONTH_MS, 2),
    ] {
        let decision = access.admit_key(raw.as_bytes(), after_midnight(ms));
        assert_eq!(decision.month_start_ms, MIDNIGHT_MS + months * MONTH_MS, "{ms}");
    }
    let early = Now {
        wall_ms: MIDNIGHT_MS - 1,
        ..after_midnight(3 * MONTH_MS)
    };
    let decision = access.admit_key(raw.as_bytes(), early);
    assert_eq!(decision.month_start_ms, MIDNIGHT_MS, "a clock that went back");
    let months: Vec<_> = taken(access).iter().map(|each| each.month_start_ms).collect();
    assert_eq!(months, [0, 1, 2].map(|number| MIDNIGHT_MS + number * MONTH_MS));
}

#[test]
fn a_key_is_charged_for_its_month_and_its_day() {
    let mut scratch = Scratch::new("charged");
    let access = &mut scratch.access;
    let (raw, hash) = key(1);
    let raw = raw.as_bytes();
    access.know(hash, record(1, hash));
    let subject = subject_of(hash);
    let [evening, morning] = [after_midnight(DAY_MS - 1), after_midnight(DAY_MS)];
    assert_eq!(
        access.admit_key(raw, evening).outcome,
        Outcome::Limited(Verdict::Unloaded)
    );
    assert!(
        access.take_charged().is_empty(),
        "a request that is asked again is counted once"
    );
    access.load(&subject, MIDNIGHT_MS, 40, evening.nanos);
    assert_eq!(
        access.admit_key(raw, evening).outcome,
        Outcome::Limited(Verdict::Admitted)
    );
    assert!(access.charge_key(raw, MIDNIGHT_MS, 59, evening));
    assert_eq!(
        access.admit_key(raw, morning).outcome,
        Outcome::Limited(Verdict::Admitted),
        "99 of 100"
    );
    assert!(access.charge_key(raw, MIDNIGHT_MS, 1, morning));
    assert_eq!(
        access.admit_key(raw, morning).outcome,
        Outcome::Limited(Verdict::OverMonth)
    );
    let day = |day, requests, characters, refused| DayUse {
        day,
        requests,
        characters,
        refused,
    };
    let delta = Delta {
        subject,
        month_start_ms: MIDNIGHT_MS,
        characters: 60,
        days: vec![day(20_000, 1, 59, 0), day(20_001, 1, 1, 1)],
    };
    assert_eq!(access.take_charged(), std::slice::from_ref(&delta));
    assert!(access.take_charged().is_empty());
    // Charges that could not be stored wait, and later ones are added to them.
    access.owe(delta.clone());
    access.owe(delta.clone());
    assert!(access.charge_key(raw, MIDNIGHT_MS, 5, morning));
    let owed = Delta {
        characters: 125,
        days: vec![day(20_000, 2, 118, 0), day(20_001, 2, 7, 2)],
        ..delta
    };
    assert_eq!(access.take_charged(), [owed]);
}

#[test]
fn nobody_is_charged_for_a_key_that_is_not_known() {
    let mut scratch = Scratch::new("nobody");
    let access = &mut scratch.access;
    let (raw, _) = key(1);
    assert!(!access.charge_key(raw.as_bytes(), MIDNIGHT_MS, 5, after_midnight(0)));
    assert!(!access.charge_key(b"no key", MIDNIGHT_MS, 5, after_midnight(0)));
    assert!(access.take_charged().is_empty());
    assert_eq!(access.usage_subject(raw.as_bytes()), None);
    assert_eq!(access.usage_subject(b"no key"), None);
}

#[test]
fn an_address_is_counted_under_its_kind_of_limit_and_charged_without_days() {
    let mut scratch = Scratch::new("address");
    let access = &mut scratch.access;
    let now = after_midnight(0);
    let address = [192, 0, 2, 1];
    let limit = limit(1, 100);
    let subject = usage_subject(3, &address);
    let unloaded = access.admit_address(3, &address, limit, Weight::Whole, now);
    assert_eq!(
        (unloaded.outcome, unloaded.tier, unloaded.month_start_ms),
        (Outcome::Limited(Verdict::Unloaded), 0, 0)
    );
    access.load(&subject, MIDNIGHT_MS, 0, now.nanos);
    let loaded = access.admit_loaded(3, &address, limit, Weight::Whole, now);
    assert_eq!(
        (loaded.outcome, loaded.month_start_ms),
        (Outcome::Limited(Verdict::Admitted), MIDNIGHT_MS)
    );
    let again = access.admit_address(3, &address, limit, Weight::Whole, now);
    assert_eq!(again.outcome, Outcome::Limited(Verdict::OverMinute));
    assert_eq!(again.standing.map(|each| each.verdict), Some(Verdict::OverMinute));
    access.give_back(3, &address, 1);
    let back = access.admit_address(3, &address, limit, Weight::Whole, now);
    assert_eq!(back.outcome, Outcome::Limited(Verdict::Admitted));
    assert!(
        access.take_charged().is_empty(),
        "requests of addresses are not kept"
    );
    access.charge_address(3, &address, MIDNIGHT_MS, 60, now.nanos);
    access.charge_address(3, &address, MIDNIGHT_MS, 40, now.nanos);
    let minute = after_midnight(60_000);
    let over = access.admit_address(3, &address, limit, Weight::Whole, minute);
    assert_eq!(over.outcome, Outcome::Limited(Verdict::OverMonth));
    assert_eq!(
        access.take_charged(),
        [Delta {
            subject,
            month_start_ms: MIDNIGHT_MS,
            characters: 100,
            days: vec![],
        }]
    );
}

#[test]
fn what_an_address_spends_later_is_waited_for() {
    let scratch = Scratch::new("spends");
    let access = &scratch.access;
    let address = [192, 0, 2, 1];
    let admit = |ms| access.admit_address(3, &address, limit(60, 0), Weight::Whole, after_midnight(ms));
    assert_eq!(admit(0).outcome, Outcome::Limited(Verdict::Admitted));
    access.spend(3, &address, 60, 119, after_midnight(0));
    assert_eq!(admit(60_999).outcome, Outcome::Limited(Verdict::OverMinute));
    assert_eq!(admit(61_000).outcome, Outcome::Limited(Verdict::Admitted));
}

#[test]
fn other_machines_usage_raises_a_month() {
    let mut scratch = Scratch::new("raised");
    let access = &mut scratch.access;
    let (raw, hash) = key(1);
    access.know(hash, record(1, hash));
    let now = after_midnight(0);
    access.load(&subject_of(hash), MIDNIGHT_MS, 0, now.nanos);
    access.load(&[], MIDNIGHT_MS, 0, now.nanos);
    access.raise(&subject_of(hash), MIDNIGHT_MS, 99, now.nanos);
    assert_eq!(
        access.admit_key(raw.as_bytes(), now).outcome,
        Outcome::Limited(Verdict::Admitted)
    );
    access.raise(&subject_of(hash), MIDNIGHT_MS, 100, now.nanos);
    assert_eq!(
        access.admit_key(raw.as_bytes(), now).outcome,
        Outcome::Limited(Verdict::OverMonth)
    );
    assert!(access.charge_key(raw.as_bytes(), MIDNIGHT_MS, 0, now));
}

#[test]
fn a_subject_is_the_first_once_in_its_time() {
    let scratch = Scratch::new("first");
    let first = |kind, nanos| scratch.access.first_in(kind, b"an order", SECOND, nanos);
    assert!(first(9, 1_000 * SECOND));
    assert!(!first(9, 1_001 * SECOND - 1));
    assert!(first(8, 1_001 * SECOND - 1), "of another kind");
    assert!(first(9, 1_001 * SECOND));
}
