//! Limits against the obvious implementation, at exact boundaries, and without free slots.

use std::collections::HashSet;
use std::path::PathBuf;

use proptest::prelude::*;

use super::naive::Naive;
use super::*;

mod crowd;

/// Limits on a temporary file.
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

/// Every process maps the file, perhaps also one of another version.
#[test]
fn the_file_has_its_form_and_its_own_seed() {
    let (one, other) = (Scratch::new("form"), Scratch::new("seed"));
    let bytes = std::fs::read(&one.path).expect("the file");
    assert_eq!(&bytes[..24], b"fglimit2sixteen byte key");
    let slots = 3 * 65_536 + 256;
    assert_eq!(bytes.len(), 4096 + slots * size_of::<slot::Slot>());
    assert_eq!(one.limits.mapped.slots().len(), slots);
    Limits::create(&other.path, *b"another key, too").expect("a writable temporary folder");
    let reopened = Limits::open(&other.path).expect("the file just made");
    assert_ne!(
        one.limits.subject(KEYS, b"a").tag,
        reopened.subject(KEYS, b"a").tag,
        "nobody without the seed knows who shares a group"
    );
}

#[test]
fn keys_addresses_and_networks_never_take_each_others_slots() {
    let Scratch { ref limits, .. } = Scratch::new("areas");
    for at in 0..5_000_u64 {
        let bytes = at.to_le_bytes();
        let subjects = [
            limits.subject(KEYS, &bytes),
            limits.subject(1, &bytes),
            limits.subject_in(2, 1, &bytes),
        ];
        assert_eq!(subjects.map(|each| each.first / file::AREA_SLOTS), [0, 1, 2]);
        assert!(subjects.iter().all(|each| each.first.is_multiple_of(GROUP)));
    }
}

#[test]
fn characters_are_counted_up_to_the_most_that_a_slot_holds() {
    let Scratch { ref limits, .. } = Scratch::new("most");
    assert_eq!(MOST_PER_MONTH, 0xFF_FFFF_FFFF);
    let subject = limits.subject(KEYS, b"a");
    let admit = |per_month, now| {
        let limit = Limit {
            per_minute: 600,
            per_month,
        };
        limits.admit(subject, limit, now).verdict
    };
    limits.load(subject, START.wall_ms, u64::MAX, START.nanos);
    assert_eq!(admit(MOST_PER_MONTH, START), Verdict::OverMonth);
    limits.charge(subject, START.wall_ms, u64::MAX, START.nanos);
    assert_eq!(admit(MOST_PER_MONTH, START), Verdict::OverMonth);
    assert_eq!(admit(1, later(MONTH_MS * 1_000_000)), Verdict::Admitted);
}

#[test]
fn what_no_limit_counted_gives_nothing_back() {
    let Scratch { ref limits, .. } = Scratch::new("uncounted");
    let subject = limits.subject(KEYS, b"a");
    assert_eq!(
        [(); 2].map(|()| limits.admit(subject, a_minute(1), START).verdict),
        [Verdict::Admitted, Verdict::OverMinute]
    );
    limits.give_back(subject, 0);
    assert_eq!(
        limits.admit(subject, a_minute(1), START).verdict,
        Verdict::OverMinute
    );
}

#[test]
fn one_asker_of_a_subject_is_the_first_in_its_time() {
    let scratch = Scratch::new("first");
    let other = Limits::open(&scratch.path).expect("the same file");
    let subject = scratch.limits.subject(15, b"an order");
    let first = |limits: &Limits, nanos| limits.first_in(subject, SECOND, later(nanos).nanos);
    assert!(first(&scratch.limits, 0));
    assert!(!first(&other, 0));
    assert!(!first(&other, SECOND - 1));
    assert!(first(&other, SECOND));
    assert!(!first(&scratch.limits, 2 * SECOND - 1));
    assert!(first(&scratch.limits, 10 * SECOND));
    let another = scratch.limits.subject(15, b"another order");
    assert!(other.first_in(another, SECOND, later(0).nanos));
}

#[test]
fn what_is_given_back_may_be_used_again() {
    let Scratch { ref limits, .. } = Scratch::new("back");
    let subject = limits.subject(KEYS, b"a");
    let one_alone_passes = || {
        assert_eq!(
            [(); 2].map(|()| limits.admit(subject, a_minute(1), START).verdict),
            [Verdict::Admitted, Verdict::OverMinute]
        );
    };
    one_alone_passes();
    limits.give_back(subject, 1);
    one_alone_passes();
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
    std::fs::write(&path, vec![0; file::FILE_BYTES]).expect("a writable temporary folder");
    assert!(Limits::open(&path).is_err());
    std::fs::remove_file(&path).expect("the file just written");
}

/// Subjects of the same group.
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
    // The buckets are full again after a minute, but the slots stay taken for a second more.
    let idle = 60_000_000_000 + SHORT_IDLE_NANOS;
    let kept = later(idle - 1);
    assert_eq!(
        limits.admit(*extra, a_minute(1), kept).verdict,
        Verdict::Uncounted
    );
    let idle = later(idle);
    assert_eq!(limits.admit(*extra, a_minute(1), idle).verdict, Verdict::Admitted);
    assert_eq!(
        limits.admit(*extra, a_minute(1), idle).verdict,
        Verdict::OverMinute
    );
    // A subject that lost its slot finds another, and is counted as before.
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

/// The /64 `subnet` of the /48 `network`: the form in which limits count IPv6 addresses.
fn slash_64(network: u64, subnet: u16) -> [u8; 8] {
    (network << 16 | u64::from(subnet)).to_be_bytes()
}

#[test]
fn a_network_has_64_times_an_address_and_an_eighth_of_that_for_its_own_networks() {
    let Scratch { ref limits, .. } = Scratch::new("networks");
    let passed = |from: &[[u8; 8]]| {
        let admit = |bytes: &&[u8; 8]| {
            let address = limits.address(1, *bytes);
            let standing = limits.admit_address(&address, a_minute(3), Weight::Whole, START);
            standing.verdict == Verdict::Admitted
        };
        from.iter().filter(admit).count()
    };
    let one: Vec<_> = (0..100).map(|_| slash_64(1, 0)).collect();
    assert_eq!(passed(&one), 3, "an address");
    let narrow: Vec<_> = (0..=255).map(|at| slash_64(2, at)).collect();
    assert_eq!(passed(&narrow), 8 * 3, "a /56");
    let wide: Vec<_> = (0..=65_535).map(|at| slash_64(3, at)).collect();
    assert_eq!(passed(&wide), 64 * 3, "a /48");
    let told = limits.admit_address(
        &limits.address(1, &slash_64(3, 9)),
        a_minute(3),
        Weight::Whole,
        START,
    );
    assert_eq!((told.verdict, told.remaining), (Verdict::OverNetwork, 0));
    assert_eq!(told.retry_seconds, 1);
    let ipv4 = (0..=255_u8).filter(|&last| {
        let address = limits.address(1, &[192, 0, 2, last]);
        limits
            .admit_address(&address, a_minute(3), Weight::Whole, START)
            .verdict
            == Verdict::Admitted
    });
    assert_eq!(ipv4.count(), 64 * 3, "a /24");
}

#[test]
fn a_refused_or_undone_request_takes_nothing_from_a_network() {
    let Scratch { ref limits, .. } = Scratch::new("undone");
    let limit = a_minute(2);
    let admit = |last: u16| {
        let address = limits.address(1, &slash_64(7, last));
        limits
            .admit_address(&address, limit, Weight::Whole, START)
            .verdict
    };
    for _ in 0..50 {
        admit(0);
    }
    let passed = (1..=255).filter(|&last| admit(last) == Verdict::Admitted).count();
    assert_eq!(passed, 14, "two of the sixteen of the /56 went to the first");
    let undone = limits.address(1, &slash_64(7, 0));
    limits.give_back_address(&undone, 2, Weight::Whole);
    assert_eq!(admit(0), Verdict::Admitted);
    assert_eq!(admit(0), Verdict::OverNetwork);
}

#[test]
fn what_was_spent_beyond_a_bucket_is_waited_for() {
    let Scratch { ref limits, .. } = Scratch::new("spent");
    let address = limits.address(1, &[192, 0, 2, 1]);
    let admit = |now| limits.admit_address(&address, a_minute(60), Weight::Whole, now);
    assert_eq!(admit(START).verdict, Verdict::Admitted);
    limits.spend_address(&address, 60, 119, START);
    let owing = admit(START);
    assert_eq!((owing.verdict, owing.retry_seconds), (Verdict::OverMinute, 61));
    assert_eq!(admit(later(60 * SECOND)).verdict, Verdict::OverMinute);
    assert_eq!(admit(later(61 * SECOND)).verdict, Verdict::Admitted);
}

#[test]
fn the_head_of_an_answer_counts_a_tenth() {
    let Scratch { ref limits, .. } = Scratch::new("heads");
    let address = limits.address(1, &[192, 0, 2, 1]);
    let heads = (0..100).filter(|_| {
        let standing = limits.admit_address(&address, a_minute(6), Weight::Tenth, START);
        standing.verdict == Verdict::Admitted
    });
    assert_eq!(heads.count(), 60);
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

#[derive(Clone, Debug)]
enum AddressStep {
    Wait(u64),
    Admit(u8, u8, u8, bool),
    Load(u8, u8, u8),
    GiveBack(u8, u8, u8),
    Spend(u8, u8, u8, u32),
}

/// The bytes of one of few addresses: IPv4 if the first number is even.
fn few(a: u8, b: u8, c: u8) -> Vec<u8> {
    if a.is_multiple_of(2) {
        vec![192, 0, a, b * 4 + c]
    } else {
        vec![0x20, 1, 0xd, 0xb8, 0, a, b, c]
    }
}

fn address_step() -> impl Strategy<Value = AddressStep> {
    let one = || (0..4_u8, 0..3_u8, 0..4_u8);
    prop_oneof![
        1 => prop_oneof![0..5 * SECOND, 0..90 * SECOND].prop_map(AddressStep::Wait),
        20 => (one(), any::<bool>()).prop_map(|((a, b, c), head)| AddressStep::Admit(a, b, c, head)),
        2 => one().prop_map(|(a, b, c)| AddressStep::Load(a, b, c)),
        2 => one().prop_map(|(a, b, c)| AddressStep::GiveBack(a, b, c)),
        1 => (one(), 0..9_u32).prop_map(|((a, b, c), count)| AddressStep::Spend(a, b, c, count)),
    ]
}

/// A number for bytes of any length.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(1, |sum, byte| sum << 8 | u64::from(*byte)) ^ (bytes.len() as u64) << 60
}

/// The networks of an address with their rates, the widest first.
fn networks_of(bytes: &[u8]) -> Vec<(u64, u32)> {
    match bytes.len() {
        4 => vec![(number(&bytes[..3]), 64)],
        _ => vec![(number(&bytes[..6]), 64), (number(&bytes[..7]), 8)],
    }
}

/// Requests a minute of each network.
fn rates(networks: &[(u64, u32)], per_minute: u32) -> Vec<(u64, u32)> {
    let rate = |&(who, times): &(u64, u32)| (who, per_minute.saturating_mul(times).min(MOST_PER_MINUTE));
    networks.iter().map(rate).collect()
}

/// Asks both about an address; if its usage is not loaded, loads it and asks again. Returns the last verdict.
fn admitted_alike(
    (limits, naive): (&Limits, &mut Naive),
    bytes: &[u8],
    limit: Limit,
    weight: Weight,
    now: Now,
) -> Result<Verdict, TestCaseError> {
    let networks = networks_of(bytes);
    let told = limits.admit_address(&limits.address(1, bytes), limit, weight, now);
    prop_assert_eq!(
        told,
        naive.admit_within(&networks, number(bytes), limit, weight, now)
    );
    if told.verdict != Verdict::Unloaded {
        return Ok(told.verdict);
    }
    limits.load(limits.subject(1, bytes), START.wall_ms, 0, now.nanos);
    naive.load(number(bytes), START.wall_ms, 0, now.nanos);
    let again = limits.admit_loaded(&limits.address(1, bytes), limit, weight, now);
    naive.give_back(&rates(&networks, limit.per_minute), weight, now.nanos);
    prop_assert_eq!(
        again,
        naive.admit_within(&networks, number(bytes), limit, weight, now)
    );
    Ok(again.verdict)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn addresses_within_networks_are_what_the_naive_reading_says(
        per_minute in prop_oneof![1..4_u32, Just(MOST_PER_MINUTE)],
        per_month in prop_oneof![Just(0), Just(5_u64)],
        steps in prop::collection::vec(address_step(), 1..900),
    ) {
        let Scratch { ref limits, .. } = Scratch::new("naive-addresses");
        let limit = Limit { per_minute, per_month };
        let mut naive = Naive::default();
        let mut admitted = HashSet::new();
        let mut now = START;
        for step in steps {
            match step {
                AddressStep::Wait(nanos) => {
                    now.nanos += nanos;
                    now.wall_ms += nanos / 1_000_000;
                }
                AddressStep::Admit(a, b, c, head) => {
                    let bytes = few(a, b, c);
                    let weight = if head { Weight::Tenth } else { Weight::Whole };
                    let both = (limits, &mut naive);
                    let last = admitted_alike(both, &bytes, limit, weight, now)?;
                    if last == Verdict::Admitted {
                        admitted.insert(bytes);
                    }
                }
                AddressStep::Load(a, b, c) => {
                    let bytes = few(a, b, c);
                    limits.load(limits.subject(1, &bytes), START.wall_ms, 9, now.nanos);
                    naive.load(number(&bytes), START.wall_ms, 9, now.nanos);
                }
                AddressStep::Spend(a, b, c, count) => {
                    let bytes = few(a, b, c);
                    // Only admitted requests spend: before the first, the networks may have no buckets.
                    if admitted.contains(&bytes) && limits.find(limits.subject(1, &bytes)).is_some() {
                        limits.spend_address(&limits.address(1, &bytes), per_minute, count, now);
                        let mut from = rates(&networks_of(&bytes), per_minute);
                        from.push((number(&bytes), per_minute));
                        naive.spend(&from, count, now.nanos);
                    }
                }
                AddressStep::GiveBack(a, b, c) => {
                    let bytes = few(a, b, c);
                    let own = limits.subject(1, &bytes);
                    // Only counted requests are given back.
                    if limits.find(own).is_some() {
                        limits.give_back_address(&limits.address(1, &bytes), per_minute, Weight::Whole);
                        let mut taken = rates(&networks_of(&bytes), per_minute);
                        taken.push((number(&bytes), per_minute));
                        naive.give_back(&taken, Weight::Whole, now.nanos);
                    }
                }
            }
        }
    }

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
