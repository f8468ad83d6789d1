//! Limits against their naive reading, at exact boundaries, and when slots run out.

use std::path::PathBuf;

use proptest::prelude::*;

use super::naive::Naive;
use super::*;

/// Limits on a file of their own, removed with it.
struct Scratch {
    limits: Limits,
    path: PathBuf,
}

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fusegate-limits-{}-{name}", std::process::id()));
        Limits::create(&path, *b"sixteen byte key").expect("a writable temporary folder");
        let limits = Limits::open(&path).expect("the file just made");
        Self { limits, path }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

const SECOND: u64 = 1_000_000_000;
const START: Now = Now {
    nanos: 1_000 * SECOND,
    wall_ms: 1_700_000_000_000,
};

fn later(nanos: u64) -> Now {
    Now {
        nanos: START.nanos + nanos,
        wall_ms: START.wall_ms + nanos / 1_000_000,
    }
}

fn a_minute(per_minute: u32) -> Limit {
    Limit {
        per_minute,
        per_month: 0,
    }
}

#[test]
fn a_bucket_holds_a_minute_and_refills_evenly() {
    let Scratch { ref limits, .. } = Scratch::new("bucket");
    let subject = limits.subject(KEYS, b"a");
    let admit = |now| limits.admit(subject, a_minute(60), now);
    for left in (0..60).rev() {
        let standing = admit(START);
        assert_eq!((standing.verdict, standing.remaining), (Verdict::Admitted, left));
        assert_eq!(standing.full_in_seconds, u64::from(60 - left));
    }
    let refused = admit(START);
    assert_eq!((refused.verdict, refused.retry_seconds), (Verdict::OverMinute, 1));
    assert_eq!((refused.remaining, refused.full_in_seconds), (0, 60));
    assert_eq!(admit(later(SECOND - 1)).verdict, Verdict::OverMinute);
    assert_eq!(admit(later(SECOND)).verdict, Verdict::Admitted);
    assert_eq!(admit(later(SECOND)).verdict, Verdict::OverMinute);
}

#[test]
fn what_is_given_back_may_be_used_again() {
    let Scratch { ref limits, .. } = Scratch::new("back");
    let subject = limits.subject(KEYS, b"a");
    assert_eq!(
        limits.admit(subject, a_minute(1), START).verdict,
        Verdict::Admitted
    );
    assert_eq!(
        limits.admit(subject, a_minute(1), START).verdict,
        Verdict::OverMinute
    );
    limits.give_back(subject, 1);
    assert_eq!(
        limits.admit(subject, a_minute(1), START).verdict,
        Verdict::Admitted
    );
    assert_eq!(
        limits.admit(subject, a_minute(1), START).verdict,
        Verdict::OverMinute
    );
}

#[test]
fn a_month_refuses_once_its_characters_are_used_up() {
    let Scratch { ref limits, .. } = Scratch::new("month");
    let subject = limits.subject(KEYS, b"a");
    let limit = Limit {
        per_minute: 600,
        per_month: 100,
    };
    assert_eq!(limits.admit(subject, limit, START).verdict, Verdict::Unloaded);
    limits.load(subject, START.wall_ms, 60, START.nanos);
    limits.load(subject, START.wall_ms, 1_000, START.nanos);
    assert_eq!(limits.admit(subject, limit, START).verdict, Verdict::Admitted);
    limits.charge(subject, START.wall_ms, 39, START.nanos);
    let last = limits.admit(subject, limit, START);
    assert_eq!(
        (last.verdict, last.month_start_ms),
        (Verdict::Admitted, START.wall_ms)
    );
    limits.charge(subject, START.wall_ms, 40, START.nanos);
    let refused = limits.admit(subject, limit, START);
    assert_eq!(
        (refused.verdict, refused.retry_seconds),
        (Verdict::OverMonth, 2_592_000)
    );
    assert_eq!(
        refused.remaining, 598,
        "a refused request is not taken from the minute"
    );
    let end = later(MONTH_MS * 1_000_000);
    let before = Now {
        wall_ms: end.wall_ms - 1,
        ..end
    };
    let refused = limits.admit(subject, limit, before);
    assert_eq!((refused.verdict, refused.retry_seconds), (Verdict::OverMonth, 1));
    let next = limits.admit(subject, limit, end);
    assert_eq!(
        (next.verdict, next.month_start_ms),
        (Verdict::Admitted, end.wall_ms)
    );
    limits.raise(subject, end.wall_ms, 100, end.nanos);
    assert_eq!(limits.admit(subject, limit, end).verdict, Verdict::OverMonth);
}

#[test]
fn two_mappings_are_one_limit() {
    let scratch = Scratch::new("two");
    let other = Limits::open(&scratch.path).expect("the same file");
    let subject = scratch.limits.subject(1, b"a");
    assert_eq!(subject, other.subject(1, b"a"));
    assert_ne!(
        subject,
        other.subject(2, b"a"),
        "each kind of limit counts for itself"
    );
    assert_eq!(
        scratch.limits.admit(subject, a_minute(1), START).verdict,
        Verdict::Admitted
    );
    assert_eq!(
        other.admit(subject, a_minute(1), START).verdict,
        Verdict::OverMinute
    );
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let path = std::env::temp_dir().join(format!("fusegate-limits-{}-foreign", std::process::id()));
    std::fs::write(&path, b"short").expect("a writable temporary folder");
    assert!(Limits::open(&path).is_err());
    std::fs::write(&path, vec![0; 4096 + SLOTS * 64]).expect("a writable temporary folder");
    assert!(Limits::open(&path).is_err());
    std::fs::remove_file(&path).expect("the file just written");
}

/// Subjects of one group.
fn neighbours(limits: &Limits, kind: u8, count: usize) -> Vec<Subject> {
    let first = limits.subject(kind, &0_u64.to_le_bytes());
    let all = (0_u64..).map(|at| limits.subject(kind, &at.to_le_bytes()));
    all.filter(|subject| subject.first == first.first)
        .take(count)
        .collect()
}

#[test]
fn a_full_group_counts_no_further_subject_and_forgives_none() {
    let Scratch { ref limits, .. } = Scratch::new("full");
    let subjects = neighbours(limits, 1, GROUP + 1);
    let (extra, held) = subjects.split_last().expect("some");
    for &subject in held {
        assert_eq!(
            limits.admit(subject, a_minute(1), START).verdict,
            Verdict::Admitted
        );
    }
    let crowded = limits.admit(*extra, a_minute(1), START);
    assert_eq!((crowded.verdict, crowded.remaining), (Verdict::Uncounted, 0));
    // The buckets are full again after a minute, but are kept for one more.
    let kept = later(2 * IDLE_NANOS - 1);
    assert_eq!(
        limits.admit(*extra, a_minute(1), kept).verdict,
        Verdict::Uncounted
    );
    let idle = later(2 * IDLE_NANOS);
    assert_eq!(limits.admit(*extra, a_minute(1), idle).verdict, Verdict::Admitted);
    assert_eq!(
        limits.admit(*extra, a_minute(1), idle).verdict,
        Verdict::OverMinute
    );
    // Who lost the slot finds another, and is counted as before.
    assert_eq!(
        limits.admit(held[0], a_minute(1), idle).verdict,
        Verdict::Admitted
    );
    assert_eq!(
        limits.admit(held[0], a_minute(1), idle).verdict,
        Verdict::OverMinute
    );
}

#[test]
fn an_evicted_subject_is_loaded_again_and_a_charged_one_stays() {
    let Scratch { ref limits, .. } = Scratch::new("evicted");
    let limit = Limit {
        per_minute: 60,
        per_month: 100,
    };
    let subjects = neighbours(limits, KEYS, GROUP + 1);
    for &subject in &subjects[..GROUP] {
        limits.load(subject, START.wall_ms, 7, START.nanos);
    }
    let idle = later(IDLE_NANOS);
    for &subject in &subjects[1..GROUP] {
        limits.charge(subject, START.wall_ms, 1, idle.nanos);
    }
    let newcomer = subjects[GROUP];
    assert_eq!(
        limits.admit(newcomer, limit, idle).verdict,
        Verdict::Unloaded,
        "not what another used"
    );
    limits.load(newcomer, START.wall_ms, 0, idle.nanos);
    assert_eq!(limits.admit(newcomer, limit, idle).verdict, Verdict::Admitted);
    assert_eq!(limits.admit(subjects[0], limit, idle).verdict, Verdict::Uncounted);
    assert_eq!(
        limits.admit(subjects[1], limit, idle).verdict,
        Verdict::Admitted,
        "still loaded"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Wait(u64),
    Admit(u64),
    Load(u64, u64),
    Charge(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => prop_oneof![0..5 * SECOND, 0..90 * SECOND, Just(MONTH_MS * 1_000_000 / 3)].prop_map(Step::Wait),
        4 => (0..3_u64).prop_map(Step::Admit),
        1 => (0..3_u64, 0..60_u64).prop_map(|(who, characters)| Step::Load(who, characters)),
        1 => (0..3_u64, 0..60_u64).prop_map(|(who, characters)| Step::Charge(who, characters)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn limits_are_what_the_naive_reading_says(
        per_minute in prop_oneof![1..10_u32, Just(60), Just(MOST_PER_MINUTE)],
        per_month in prop_oneof![Just(0), 1..200_u64],
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let Scratch { ref limits, .. } = Scratch::new("naive");
        let limit = Limit { per_minute, per_month };
        let mut naive = Naive::default();
        let mut now = START;
        for step in steps {
            let subject = |who: u64| limits.subject(KEYS, &who.to_le_bytes());
            match step {
                Step::Wait(nanos) => {
                    now.nanos += nanos;
                    now.wall_ms += nanos / 1_000_000;
                }
                Step::Admit(who) => {
                    let told = limits.admit(subject(who), limit, now);
                    prop_assert_eq!(told, naive.admit(who, limit, now));
                }
                Step::Load(who, characters) => {
                    limits.load(subject(who), START.wall_ms, characters, now.nanos);
                    naive.load(who, START.wall_ms, characters, now.nanos);
                }
                Step::Charge(who, characters) => {
                    let months = (now.wall_ms - START.wall_ms) / MONTH_MS;
                    let month_start_ms = START.wall_ms + months * MONTH_MS;
                    limits.charge(subject(who), month_start_ms, characters, now.nanos);
                    naive.charge(who, month_start_ms, characters, now.nanos);
                }
            }
        }
    }
}
