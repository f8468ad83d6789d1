//! Rows of the repair, and the slow implementation of them.

use super::*;

use crate::text::normalize::gloss::Glosses;
use crate::text::normalize::{Mode, mojibake, naive};
use proptest::prelude::*;

/// Characters that rows change, with plain ones in between.
const PARTS: &[&str] = &[
    "a",
    "b",
    "Z",
    "1",
    "5",
    " ",
    ".",
    "!",
    "(",
    "\n",
    "\t",
    "\r",
    "\u{B}",
    "\0",
    "\u{7F}",
    "\u{85}",
    "\u{99}",
    "\u{A0}",
    "\u{AD}",
    "\u{200B}",
    "\u{200C}",
    "\u{200D}",
    "\u{200E}",
    "\u{202E}",
    "\u{FEFF}",
    "\u{FE0F}",
    "\u{FE0E}",
    "\u{E0067}",
    "\u{E007F}",
    "\u{20E3}",
    "“",
    "’",
    "—",
    "−",
    "…",
    "™",
    "ﬁ",
    "Ａ",
    "１",
    "！",
    "，",
    "、",
    "ア",
    "ｶ",
    "ﾞ",
    "漢",
    "㊙",
    "①",
    "⒈",
    "½",
    "⅓",
    "\u{2044}",
    "¹\u{2044}₂",
    "²",
    "⁻",
    "₂",
    "ª",
    "\u{301}",
    "\u{323}",
    "\u{315}",
    "é",
    "e",
    "\u{1100}",
    "\u{1161}",
    "\u{11A8}",
    "각",
    "क",
    "\u{93C}",
    "\u{94D}",
    "ی",
    "خ",
    "а",
    "р",
    "Б",
    "І",
    "ο",
    "Ω",
    "\u{2126}",
    "ı",
    "ɑ",
    "Â",
    "Ã",
    "â",
    "€",
    "œ",
    "Ð",
    "¡",
    "©",
    "°",
    "Ø",
    "√",
    "∂",
    "ß",
    "├",
    "\u{FFFD}",
    "❤",
    "😂",
    "👩",
    "👧",
    "🏽",
    "🏴",
    "🇩",
    "🇪",
    "🇽",
    "→",
    "¨",
    "´",
    "\u{1FFD}",
    "΅",
    "\u{2032}",
    "№",
    "α",
    "γ",
    "\u{FDFA}",
    "¸",
    "º",
];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(PARTS), 0..14).prop_map(|parts| parts.concat()),
        "\\PC{0,12}",
        prop::collection::vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect()),
        // Text of several scripts, decoded wrongly.
        "[a-zàéñŠα-ωа-я日本語 ’]{0,10}".prop_map(|text| text.bytes().map(char::from).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn holds_for_any_text(
        text in any_text(),
        contextual in any::<bool>(),
        surface in any_text(),
        word in any_text(),
    ) {
        naive::assert_sound(&text, Mode::Repair, contextual, None);
        let pairs = [(surface.as_str(), word.as_str()), ("漢", "Han")];
        let glosses = Glosses::new(pairs.into_iter().collect(), contextual);
        for mode in [Mode::Augment, Mode::Replace] {
            naive::assert_sound(&text, mode, contextual, Some(&glosses));
            naive::assert_sound(&text, mode, contextual, None);
        }
    }
}

/// Characters of words that mix scripts, and of what ends a word or is removed from it.
const MIXED: &[&str] = &[
    "a", "l", "Z", "1", "ϐ", "α", "а", "Б", "中", "é", "\u{301}", "\u{323}", "\u{200B}", "²", " ", "-", "\t",
    "、",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn words_of_several_scripts_are_the_slow_ones(
        parts in prop::collection::vec(prop::sample::select(MIXED), 0..24),
        few in prop::collection::vec(prop::sample::select(MIXED), 1..5),
        times in 1usize..8,
    ) {
        let (parts, repeated) = (parts.concat(), few.concat().repeat(times));
        for text in [parts.clone() + &repeated, parts, repeated] {
            for contextual in [true, false] {
                naive::assert_sound(&text, Mode::Repair, contextual, None);
            }
            naive::assert_sound(&text, Mode::Augment, true, None);
        }
    }
}

#[test]
fn a_letter_of_another_script_counts_until_its_word_ends() {
    for (text, expected) in [
        ("ϐаl中 pаy", "βаl中 pay"),
        ("中pаy中pаy pаy中 pаypаy", "中pаy中pаy pаy中 paypay"),
        ("中a-pаy中1\tpаy、pаy", "中a-pаy中1\tpay、pay"),
        ("Бpаy\u{200B}pаy pаy", "Бpаypаy pay"),
    ] {
        assert_eq!(naive::assert_sound(text, Mode::Repair, true, None), expected);
    }
    for mixed in ["ϐal", "ϐаl", "аl中", "ϐаl中", "аlБ"] {
        for (before, after) in [("", ""), ("中", " pаy"), ("a", "中"), ("1", "-")] {
            let text = format!("{before}{}{after}", mixed.repeat(40));
            naive::assert_sound(&text, Mode::Repair, true, None);
        }
    }
}

#[test]
fn a_word_is_made_no_worse() {
    for (text, expected) in [
        ("don´t, the dogs´ ´x´", "don't, the dogs' 'x'"),
        ("don′t, 5′ 2″", "don't, 5′ 2′′"),
        ("na¨ive ‗ ¸ ῀", "na¨ive ‗ ¸ ῀"),
        ("Acme™ №5 5℠a", "Acme TM No 5 5 SM a"),
    ] {
        assert_eq!(naive::assert_sound(text, Mode::Repair, true, None), expected);
    }
}

#[test]
fn marks_compose_before_mojibake_is_looked_for() {
    // The accent waits for the ohm sign to become a letter; after a letter like Ώ nothing is decoded.
    for (text, expected) in [
        ("\r\u{2126}\u{301}Â\0€", " ΏÂ€"),
        ("\u{ad}\u{2126}\u{301}Ã\u{7f}¡¸", "ΏÃ¡¸"),
        ("\u{2126}\u{ad}\u{301}Ã\u{7f}¸", "ΏÃ¸"),
        (
            "q\u{323}\u{ad}\u{316}\u{ad}\u{301}Â\0€",
            "q\u{323}\u{316}\u{301}€",
        ),
    ] {
        assert_eq!(naive::assert_sound(text, Mode::Repair, false, None), expected);
    }
}

#[test]
fn greek_letters_that_are_symbols_stay() {
    for (text, expected) in [
        ("TNFα TGFβ1 IFNγ PPARγ2 αTocopherol 5αR1 TNFαR NFκB", None),
        ("αβγ pαα αa", None),
        ("pαypal bιtcoin pααl Gοοgle", Some("paypal bitcoin paal Google")),
        ("hellο TNFο Αpple", Some("hello TNFo Apple")),
        // The neighbour is Latin only after its own repair.
        ("p\u{430}αypal", Some("paaypal")),
        ("aαααααααααb", None),
    ] {
        let repaired = naive::assert_sound(text, Mode::Repair, true, None);
        assert_eq!(repaired, expected.unwrap_or(text));
    }
    let long = "a".to_owned() + &"α".repeat(100_000) + "a";
    assert_eq!(text(&long, true).list().len(), 0);
}

#[test]
fn plain_text_is_told_from_the_rest() {
    for length in 0..200 {
        let text = "plain text,\twith a tab\n".repeat(10);
        let text = &text.as_bytes()[..length];
        assert_eq!(plain_length(text), length);
        for (at, odd) in [
            (length / 2, 0x7F),
            (length / 3, 0x0D),
            (length.saturating_sub(1), 0xC3),
        ] {
            let mut text = text.to_vec();
            if at < length {
                text[at] = odd;
                assert_eq!(plain_length(&text), at);
            }
        }
    }
}

#[test]
fn a_line_is_read_as_a_whole_in_an_encoding_that_has_all_its_characters() {
    for (line, read) in [
        ("dÃ©jÃ? vu", "déj\u{FFFD} vu"),
        (
            "a dÃ©jÃ? vu, dÃ©jÃ\u{FFFD} vu",
            "a déj\u{FFFD} vu, déj\u{FFFD} vu",
        ),
        // No encoding has the last character: only parts are read.
        ("dÃ©jÃ? 語", "déjÃ? 語"),
        ("語 dÃ©jÃ? vu", "語 déjÃ? vu"),
        // The control that is the byte of a lost character is none.
        ("â€™Ã\u{FFFD}", "’\u{FFFD}"),
        ("â€™Ã\u{1A}", "’Ã\u{1A}"),
        ("\u{1A} dÃ©jÃ? vu", "\u{1A} déjÃ? vu"),
    ] {
        let mut text = Vec::new();
        let edits = mojibake::repair(line, &mut { usize::MAX }).unwrap_or_default();
        edits.apply(line.as_bytes(), &mut text);
        assert_eq!(String::from_utf8_lossy(&text), read, "{line:?}");
    }
}

#[test]
fn a_chain_of_sequences_is_repaired_once_and_for_all() {
    let links = [
        "Ã“\u{81}",
        "Ã“\u{80}",
        "Ã“\u{82}",
        "Ã\u{93}\u{81}",
        "Ã—\u{81}",
        "Ã“\u{81}a\u{200B}",
        "aÃ“\u{81} ﬁ",
        "Ã“\u{81}Ã©",
    ];
    let apply = |text: &str| {
        let mut out = Vec::new();
        super::text(text, true).apply(text.as_bytes(), &mut out);
        String::from_utf8(out).expect("text")
    };
    for link in links {
        for count in [1, 2, 40, 383, 400, 1_300, 12_000] {
            let once = apply(&link.repeat(count));
            assert_eq!(apply(&once), once, "{link:?} {count} times");
            assert!(!once.contains(['\u{200B}', 'ﬁ']), "the other rows apply");
        }
    }
    // As far as a short line goes, the chain is decoded whole.
    assert_eq!(apply(&"Ã“\u{81}".repeat(40)), "\u{4C1}".repeat(40));
}
