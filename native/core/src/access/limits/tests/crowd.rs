//! The bucket that all addresses without a slot share.

use super::super::file::SLOTS;
use super::*;

/// Takes every slot that a subject of an area may have.
fn fill_group(limits: &Limits, area: usize, bytes: &[u8]) {
    let subject = limits.subject_in(area, 1, bytes);
    let all = (0_u64..).map(|at| limits.subject_in(area, 1, &at.to_le_bytes()));
    let others = all.filter(|each| each.first == subject.first && each.tag != subject.tag);
    for each in others.take(GROUP) {
        limits.admit(each, a_minute(1), START);
    }
    assert!(limits.find(subject).is_none());
}

/// An address without a slot, and without networks.
fn stranger(limits: &Limits) -> Address {
    fill_group(limits, 1, b"a stranger");
    limits.address(1, b"a stranger")
}

/// An address that can have a slot, but whose network cannot.
fn lost(limits: &Limits) -> Address {
    fill_group(limits, 2, &[198, 51, 100]);
    limits.address(1, &[198, 51, 100, 7])
}

fn admit(limits: &Limits, address: &Address) -> Verdict {
    limits
        .admit_address(address, a_minute(1), Weight::Whole, START)
        .verdict
}

/// Uses up the crowd's 64 requests by an address without a slot or networks; returns how many were left.
fn exhaust_crowd(limits: &Limits, address: &Address) -> usize {
    (0..100)
        .take_while(|_| admit(limits, address) == Verdict::Crowded)
        .count()
}

#[test]
fn an_address_without_a_slot_gives_back_to_the_crowd_and_no_other_does() {
    let Scratch { ref limits, .. } = Scratch::new("crowd-back");
    let stranger = stranger(limits);
    assert_eq!(exhaust_crowd(limits, &stranger), 64);
    limits.give_back_address(&stranger, 1, Weight::Whole);
    assert_eq!(exhaust_crowd(limits, &stranger), 1);
    limits.give_back_address(&stranger, 0, Weight::Whole);
    assert_eq!(exhaust_crowd(limits, &stranger), 0);

    let known = limits.address(1, &[192, 0, 2, 1]);
    assert_eq!(admit(limits, &known), Verdict::Admitted);
    limits.give_back_address(&known, 1, Weight::Whole);
    assert_eq!(
        exhaust_crowd(limits, &stranger),
        0,
        "it took nothing from the crowd"
    );

    // Its network has no slot: that part of the request was the crowd's.
    let lost = lost(limits);
    assert_eq!(admit(limits, &lost), Verdict::OverCrowd);
    limits.give_back_address(&stranger, 1, Weight::Whole);
    assert_eq!(admit(limits, &lost), Verdict::Crowded);
    limits.give_back_address(&lost, 1, Weight::Whole);
    assert_eq!(exhaust_crowd(limits, &stranger), 1, "once");
    limits.admit_loaded(&lost, a_minute(0), Weight::Whole, START);
    assert_eq!(exhaust_crowd(limits, &stranger), 0, "no limit took anything");
}

#[test]
fn an_address_without_a_slot_spends_of_the_crowd_and_no_other_does() {
    let Scratch { ref limits, .. } = Scratch::new("crowd-spent");
    let stranger = stranger(limits);
    let known = limits.address(1, &[192, 0, 2, 1]);
    assert_eq!(admit(limits, &known), Verdict::Admitted);
    limits.spend_address(&known, 1, 10, START);
    limits.spend_address(&stranger, 1, 12, START);
    limits.spend_address(&stranger, 0, 10, START);
    let lost = lost(limits);
    assert_eq!(admit(limits, &lost), Verdict::Crowded);
    limits.spend_address(&lost, 1, 20, START);
    assert_eq!(exhaust_crowd(limits, &stranger), 64 - 12 - 1 - 20);
}

#[test]
fn no_number_of_addresses_ends_a_limit() {
    let Scratch { ref limits, .. } = Scratch::new("crowd");
    let admit = |bytes: &[u8]| {
        let address = limits.address(1, bytes);
        limits.admit_address(&address, a_minute(6), Weight::Whole, START)
    };
    // Each from another network, until no newcomer finds a slot.
    let filled = (0..400_000_u64).map(|at| admit(&slash_64(at, 0)).verdict);
    let passed = filled.filter(|verdict| *verdict != Verdict::OverCrowd).count();
    assert!(passed < SLOTS, "{passed} passed");
    // 150,000 addresses of three /48, which once defeated the limits.
    let flood = (0..150_000_u64).map(|at| slash_64(1 << 40 | at >> 16, at as u16));
    let more = flood.filter(|bytes| {
        let verdict = admit(bytes).verdict;
        !matches!(verdict, Verdict::OverCrowd | Verdict::OverNetwork)
    });
    assert!(more.count() <= 3 * 64 * 6, "what three /48 have");
    let strangers = (0..1_000_u64).map(|at| slash_64(1 << 41 | at, 0));
    let (over, told): (Vec<_>, Vec<_>) = strangers
        .map(|bytes| admit(&bytes))
        .partition(|standing| standing.verdict == Verdict::OverCrowd);
    assert!(over.len() > 600, "most find no slot: {}", over.len());
    assert!(told.iter().all(|standing| standing.verdict == Verdict::Admitted));
    assert!(over.iter().all(|standing| standing.retry_seconds == 1));
    // Another kind of limit is unaffected, and the crowd's bucket refills.
    let other = limits.address(2, &slash_64(1 << 42, 0));
    let standing = limits.admit_address(&other, a_minute(6), Weight::Whole, START);
    assert!(matches!(standing.verdict, Verdict::Admitted | Verdict::Crowded));
    let in_a_second = later(SECOND);
    let again = (0..1_000_u64).filter(|at| {
        let address = limits.address(1, &slash_64(1 << 41 | at, 1));
        let standing = limits.admit_address(&address, a_minute(6), Weight::Whole, in_a_second);
        standing.verdict == Verdict::Crowded
    });
    assert_eq!(again.count(), 6, "six of 64 times six a minute");
}
