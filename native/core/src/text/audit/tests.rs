//! Audits of whole texts: how they are cut into records, which are refused and where, and that the findings
//! equal the obvious ones.

use crate::text::audit::analyzers::Analyzer;
use crate::text::audit::examine::Examiner;
use crate::text::audit::excerpt::{edited, example};
use crate::text::audit::format::{Fault, Format};
use crate::text::audit::naive::{agrees, assert_audited, postgres};
use crate::text::audit::records::Records;
use crate::text::audit::{Audit, Issue, listed};
use proptest::prelude::*;

fn cut(text: &str, format: Option<Format>) -> Result<Vec<String>, Fault> {
    assert_audited(text.as_bytes(), format)
}

fn found(text: &str) -> Vec<String> {
    cut(text, None).expect("records")
}

#[test]
fn formats_are_told_from_each_other() {
    assert_eq!(found("id,name\n1,Ada\n2,\"Bo, jr\"\n"), ["1 Ada", "2 Bo, jr"]);
    assert_eq!(found("id;name\r\n1;Ada\r\n2;Bo"), ["1 Ada", "2 Bo"]);
    assert_eq!(found("id\tname\n1\tAda\n"), ["1 Ada"]);
    assert_eq!(
        found("{\"a\":\"x\",\"n\":1}\n{\"a\":\"y\\u00e9\"}\n"),
        ["x", "yé"]
    );
    assert_eq!(found("\"x\"\n\"y\"\n"), ["x", "y"]);
    assert_eq!(
        found("[\"x\", {\"a\": \"y\", \"b\": [\"z\", 1]}, null]"),
        ["x", "y z", ""]
    );
    assert_eq!(found("{\"a\": \"x\",\n \"b\": \"y\"}"), ["x y"]);
    assert_eq!(cut("\"x\" \n", Some(Format::Json)), Ok(vec!["x".to_owned()]));
    assert_eq!(found("one\n\ntwo\r\nthree"), ["one", "two", "three"]);
    assert_eq!(
        found("Hello, world\nGoodbye, world\n"),
        ["Hello, world", "Goodbye, world"]
    );
    assert_eq!(found("[draft] one\n[draft] two"), ["[draft] one", "[draft] two"]);
    assert_eq!(found("{not json}\nx"), ["{not json}", "x"]);
    assert_eq!(found(""), [""; 0]);
    assert_eq!(found("\u{FEFF}id,name\n1,Ada\n"), ["1 Ada"]);
    assert_eq!(found("\u{FEFF}[\"x\"]"), ["x"]);
}

fn told(text: &str) -> Format {
    Records::open(text.as_bytes(), None).expect("a text").format()
}

#[test]
fn formats_are_told_by_the_beginning_of_long_texts() {
    let product = "{\"name\": \"cafe\u{301}\",\n  \"tags\": [null, true, 1.5]}";
    let many = |between: &str| vec![product; 8000].join(between);
    let minified = |text: &str| text.replace(['\n', ' '], "");
    let line = format!("{{\"a\": \"{}\"}}", "word ".repeat(120_000));
    let lists = format!("[\"{}\"]", "word ".repeat(120_000));
    for (text, format) in [
        (format!("{{\"products\": [{}]}}", many(",\n")), Format::Json),
        (
            minified(&format!("{{\"products\": [{}]}}", many(","))),
            Format::Json,
        ),
        (minified(&format!("[null,{}]", many(","))), Format::Json),
        (format!("[\n{}\n]\n", many(",\n")), Format::Json),
        (format!("[5,\n{}\n]\n", many(",\n")), Format::Json),
        (
            minified(product) + "\n" + &vec![minified(product); 8000].join("\n"),
            Format::Jsonl,
        ),
        ([line.as_str(); 3].join("\n"), Format::Jsonl),
        ([lists.as_str(); 3].join("\n"), Format::Jsonl),
        (vec!["[\"a\", \"b\"]"; 30_000].join("\n"), Format::Jsonl),
        (vec!["[draft] a, b"; 30_000].join("\n"), Format::Lines),
        (vec!["{not} JSON"; 30_000].join(" "), Format::Lines),
    ] {
        assert_eq!(told(&text), format, "{}", &text[..40]);
    }
    assert_eq!(found(&[lists.as_str(); 3].join("\n")).len(), 3);
}

#[test]
fn csv_is_told_by_its_quotes_or_by_most_names() {
    let headers = [
        ",name,text",
        "id,2023,text",
        "id,name,name",
        "id,name ,text",
        "id,in stock?,text",
    ];
    let rows = "1,2,\"one\ntwo\"\n".repeat(30);
    for header in headers.into_iter().chain(["1,2,3"]) {
        assert_eq!(told(&format!("{header}\n{rows}")), Format::Csv, "{header}");
        assert_eq!(found(&format!("{header}\n{rows}")).len(), 30, "{header}");
    }
    let plain = "1,2,3\n".repeat(3);
    for header in headers {
        assert_eq!(told(&format!("{header}\n{plain}")), Format::Csv, "{header}");
    }
    assert_eq!(told("name,in stock?\nAda,1\n"), Format::Csv);
    for prose in [
        "\"Yes, sir,\" he said, smiling.\n\"No, sir,\" she said, smiling.\n\"So, sir,\" he said, leaving.\n",
        "First, we came.\nThen, we saw.\nLast, we won.\n",
        "Red, green, blue\nOne, two, three\nA, b, c\n",
        "10,000 units were sold.\n20,000 units were made.\n30,000 units are left.\n",
        "Hello,world.\nHello,you.\nHello,all.\n",
        "1,2,3\n4,5,6\n7,8,9\n",
    ] {
        assert_eq!(told(prose), Format::Lines, "{prose}");
    }
}

#[test]
fn quotes_may_hold_separators_line_feeds_and_quotes() {
    let text = "a,b\n\"one\n\"\"two\"\"\",\"x,y\"\n,\n";
    assert_eq!(
        cut(text, Some(Format::Csv)),
        Ok(vec!["one\n\"two\" x,y".to_owned(), String::new()])
    );
}

#[test]
fn what_does_not_fit_its_format_is_told_by_its_place() {
    let csv = |text| cut(text, Some(Format::Csv)).expect_err("a fault");
    let ragged = |line, fields, header| Fault::Ragged { line, fields, header };
    assert_eq!(csv("a,b\n1,2\n3\n"), ragged(3, 1, 2));
    assert_eq!(csv("a,b\r\n1,2\r\n1,2,3"), ragged(3, 3, 2));
    assert_eq!(csv("a,b\n\"1,2\n3,4\n"), Fault::UnclosedQuote(2));
    assert_eq!(csv("a,\""), Fault::UnclosedQuote(1));
    let json = |text| cut(text, Some(Format::Json)).expect_err("a fault");
    assert_eq!(json("[\"a\", \"b"), Fault::NotJson(8));
    assert_eq!(json("[\"a\" \"b\"]"), Fault::NotJson(5));
    assert_eq!(json("[\"a\"] x"), Fault::NotJson(6));
    assert_eq!(json(""), Fault::NotJson(0));
    assert_eq!(json("[\"a\", 5]"), Fault::NotText(2));
    let jsonl = |text| cut(text, Some(Format::Jsonl)).expect_err("a fault");
    assert_eq!(jsonl("\"a\"\n\nb\n"), Fault::NotJsonLine(3));
    assert_eq!(jsonl("\"a\"\ntrue\n"), Fault::NotText(2));
    assert_eq!(jsonl("\"\\ud800\"\n"), Fault::NotJsonLine(1));
    assert_eq!(assert_audited(b"ab\xFF", None), Err(Fault::NotUtf8(2)));
    assert_eq!(assert_audited(b"ab\xE2\x82", None), Err(Fault::NotUtf8(2)));
    assert_eq!(assert_audited(b"\xFF\xFEa\0", None), Err(Fault::Utf16));
}

#[test]
fn deep_values_end_at_the_bound() {
    let nested = |depth: usize| format!("{}\"x\"{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(cut(&nested(100), Some(Format::Json)), Ok(vec!["x".to_owned()]));
    assert!(cut(&nested(200), Some(Format::Json)).is_err());
    assert!(cut(&nested(100_000), Some(Format::Jsonl)).is_err());
}

/// One record for each issue, and similar ones without it.
#[test]
fn every_issue_is_found() {
    let long = "word ".repeat(300);
    let cases: [(Issue, &str, &str); 11] = [
        (Issue::Mojibake, "CafÃ© crÃ¨me", "Café crème"),
        (Issue::Invisible, "pass\u{200B}word", "पक्‍ष"),
        (Issue::Confusable, "p\u{430}ypal", "привет"),
        (Issue::Compatibility, "ﬁne １２", "fine 12"),
        (Issue::Emoji, "I ❤️ it", "I love it"),
        (Issue::Decomposed, "cafe\u{301}", "café"),
        (Issue::Control, "a\u{7}b", "a\tb"),
        (Issue::Html, "<p>x</p>", "1 < 2 > 0"),
        (Issue::Empty, "…\u{200B}", "❤️"),
        (Issue::Unsegmented, "黑豹队的防守", "黑豹 和 コンピュータ"),
        (Issue::Long, &long, "word"),
    ];
    let mut examiner = Examiner::default();
    for (issue, with, without) in cases {
        assert_ne!(examiner.examine(with).issues & issue.bit(), 0, "{with}");
        assert_eq!(examiner.examine(without).issues & issue.bit(), 0, "{without}");
    }
}

#[test]
fn words_that_are_found_only_after_are_told() {
    let mut examiner = Examiner::default();
    let mut verdict = |text| {
        let found = examiner.examine(text);
        (found.gains, found.gains_own)
    };
    assert_eq!(verdict("“quoted” — don’t don´t"), (false, false));
    // If the word of one edit reaches into the next edit, that one does not start a word in its middle.
    assert_eq!(verdict("don’™t word’™word"), (false, false));
    assert_eq!(verdict("caf\u{65}\u{301}"), (true, true));
    // Case folding gives the same for a ligature.
    assert_eq!(verdict("ﬁne"), (false, false));
    assert_eq!(verdict("ｆine"), (true, true));
    assert_eq!(verdict("I ❤️ it"), (true, false));
    assert_eq!(verdict("ｆine ❤️"), (true, true));
    // The word also occurs as it is typed.
    assert_eq!(verdict("ｆine or fine"), (false, false));
    assert_eq!(verdict("a heart, red: ❤️"), (false, false));
    // Either half already finds it.
    assert_eq!(verdict("3\u{2044}4"), (false, false));
    assert_eq!(verdict("H₂O"), (true, true));
    assert_eq!(verdict("H₂O (H2O)"), (false, false));
    assert_eq!(verdict("TNFα"), (false, false));
    assert_eq!(verdict("10⁶ cells"), (true, true));
    assert_eq!(verdict("Acme™"), (true, true));
}

/// Records, and the stacks whose searches gain by their normalization.
const GAINING: [(&str, &str); 7] = [
    (
        "ﬁne print",
        "elasticsearch postgres qdrant weaviate pinecone algolia",
    ),
    (
        "cafe\u{301}",
        "custom elasticsearch postgres qdrant milvus weaviate",
    ),
    ("don’t", "elasticsearch opensearch solr"),
    (
        "p\u{430}ypal",
        "custom solr vespa meilisearch algolia pgvector milvus",
    ),
    ("CO₂", "custom elasticsearch postgres meilisearch"),
    ("½ of 2", "qdrant algolia meilisearch"),
    (
        "pass\u{200B}word",
        "custom elasticsearch postgres milvus weaviate vespa",
    ),
];

/// Records, and stacks that find as much without it.
const INDIFFERENT: [(&str, &str); 7] = [
    ("cafe\u{301}", "meilisearch vespa algolia typesense pgvector"),
    ("ﬁne print", "custom meilisearch vespa typesense"),
    // The record has only the second of the fraction's two terms.
    ("½ of 2", "milvus"),
    ("don’t", "custom postgres qdrant weaviate"),
    ("pass\u{200B}word", "pgvector pinecone"),
    ("CO₂", "vespa typesense"),
    ("ｔｈｅ", "weaviate"),
];

#[test]
fn each_stack_judges_by_its_own_analyzer() {
    let gains = |stack: &str, text: &str| Examiner::new(Analyzer::of_stack(stack)).examine(text).gains;
    for (stacks, expected) in [(GAINING, true), (INDIFFERENT, false)] {
        for (text, by) in stacks {
            for stack in by.split(' ') {
                assert_eq!(gains(stack, text), expected, "{text} by {stack}");
            }
        }
    }
}

#[test]
fn an_example_shows_the_place_of_its_own_issue() {
    let issues = [
        (Issue::Invisible, "zero\u{200B}width"),
        (Issue::Mojibake, "cafÃ©"),
        (Issue::Emoji, "rocket 🚀 up"),
        (Issue::Compatibility, "wide ｗｏｒｄ end"),
    ];
    let words = format!(" {} ", "word ".repeat(60));
    let record = issues.map(|(_, part)| part).join(&words);
    let all = edited(&record);
    for (issue, _) in issues {
        let shown = example(&record, &all, issue).before;
        for (other, part) in issues {
            assert_eq!(shown.contains(part), other == issue, "{issue:?}: {shown}");
        }
    }
}

#[test]
fn examples_show_the_place_and_no_personal_data() {
    let far = format!(
        "{} mail ada@example.com cafÃ© {}",
        "before ".repeat(2000),
        "after ".repeat(2000)
    );
    let mut audit = Audit::default();
    audit.add(&listed([far.as_str(), far.as_str(), "\u{1}\u{2}"]), 2);
    let findings = audit.findings();
    let example = &findings.examples[Issue::Mojibake as usize][0];
    assert!(
        example.before.contains("mail [email] cafÃ© after"),
        "{}",
        example.before
    );
    assert!(
        example.after.contains("mail [email] café after"),
        "{}",
        example.after
    );
    assert!(example.before.starts_with('…') && example.before.chars().count() < 200);
    let mut audit = Audit::default();
    let keycaps = "call 5\u{FE0F}\u{20E3}".to_owned() + &"\u{200B}1\u{FE0F}\u{20E3}".repeat(9) + " now";
    let token = "\u{200B}https://x.example/?t=sk_live_51H8aBcDeFgHiJkLmN";
    audit.add(&listed([keycaps.as_str(), token]), 1);
    let examples = &audit.findings().examples[Issue::Invisible as usize];
    assert_eq!(examples[0].before, "call [number] now");
    assert_eq!(examples[0].after, "call [number] now");
    assert!(examples[1].before.ends_with("/?t=[secret]") && examples[1].after.ends_with("/?t=[secret]"));
    assert_eq!(findings.counts[Issue::ExactCopy as usize], 1);
    let empty = &findings.examples[Issue::Empty as usize][0];
    assert_eq!((empty.before.as_str(), empty.after.as_str()), ("\u{1}\u{2}", ""));
}

#[test]
fn what_the_tokenizer_cuts_shows_no_personal_data() {
    for (record, shown) in [
        (
            "我的电话号码是13812345678",
            "我的 的电 电话 话号 号码 码是 [number]",
        ),
        ("联系邮箱wangxiaoming@example.com", "[email]"),
        ("13812345678是我的号码", "[number] 是我 我的 的号 号码"),
    ] {
        let example = example(record, &edited(record), Issue::Unsegmented);
        assert_eq!(example.after, shown, "{}", example.before);
    }
}

#[test]
fn a_long_text_is_not_searched_again_and_again() {
    // A megabyte in one line, in one quote, in one string: cut once each.
    let word = "a ".repeat(1 << 19);
    for (format, text) in [
        (Format::Lines, word.clone()),
        (Format::Csv, format!("text\n\"{word}\"\n")),
        (Format::Json, format!("[\"{word}\"]")),
        (Format::Jsonl, format!("\"{word}\"\n")),
    ] {
        let records = crate::text::audit::records::Records::open(text.as_bytes(), Some(format));
        let batches = crate::text::audit::cut(&mut records.expect("a text")).expect("records");
        assert_eq!(batches[0].record(0), word.trim_end_matches('\n'), "{format:?}");
    }
}

/// Texts made of what the audit looks for.
fn odd_text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("CafÃ© "),
        Just("\u{200B}"),
        Just("pаy"),
        Just("ﬁ"),
        Just("❤️"),
        Just("e\u{301}"),
        Just("\u{1}"),
        Just("<b>"),
        Just("&amp;"),
        Just(" "),
        Just("黑豹队的"),
        Just("a@b.c "),
        Just("12345678"),
        Just("…"),
        Just("\""),
        Just(","),
        Just("\n"),
        Just("["),
        Just("{"),
        Just("word "),
        Just("\r\n"),
        Just("½"),
        Just("₂"),
        Just("²"),
        Just("m"),
        Just("’"),
        Just("´"),
        Just("™"),
        Just("10"),
        Just("⁻⁶"),
        Just("heart"),
    ];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn verdicts_are_the_obvious_ones(text in odd_text(), any in "\\PC{0,40}", ascii in "[a-z ,-]{0,1600}") {
        let mut examiner = Examiner::default();
        prop_assert!(agrees(&text, &examiner.examine(&text)), "{text:?}");
        prop_assert!(agrees(&any, &examiner.examine(&any)), "{any:?}");
        prop_assert!(agrees(&ascii, &examiner.examine(&ascii)), "{ascii:?}");
    }

    #[test]
    fn any_text_in_any_format(text in odd_text(), format in prop::option::of(0usize..4)) {
        let format = format.map(|at| Format::ALL[at]);
        let _ = cut(&text, format);
    }

    #[test]
    fn rows_come_back_as_they_were_written(
        rows in prop::collection::vec(prop::collection::vec(odd_text(), 3), 1..6),
    ) {
        let row = |cells: &[String]| {
            let quoted = cells.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\"")));
            quoted.collect::<Vec<_>>().join(",") + "\n"
        };
        let text = format!("a,b,c\n{}", rows.iter().map(|cells| row(cells)).collect::<String>());
        let joined = rows.iter().map(|cells| {
            cells.iter().filter(|cell| !cell.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
        });
        prop_assert_eq!(cut(&text, None), Ok(joined.collect()));
    }

    #[test]
    fn values_come_back_as_they_were_written(texts in prop::collection::vec(odd_text(), 0..6)) {
        let array = serde_json::to_string(&texts).expect("JSON");
        prop_assert_eq!(cut(&array, None), Ok(texts.clone()));
        let line = |text: &String| serde_json::to_string(text).expect("JSON") + "\n";
        let lines: String = texts.iter().map(line).collect();
        prop_assert_eq!(cut(&lines, Some(Format::Jsonl)), Ok(texts));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_terms_of_postgres_are_the_obvious_ones(
        text in "[aZ1.<>/&#;+ªé中\u{301}٣ ]{0,40}",
        few in "[a1./&#<ª;>+]{1,5}",
        times in 1usize..8,
        any in "\\PC{0,40}",
    ) {
        for text in [few.repeat(times) + &text, text + &few.repeat(times), any] {
            let mut terms = Vec::new();
            let term = |term: &[u8]| terms.push(String::from_utf8(term.to_vec()).expect("text"));
            Analyzer::Postgres.terms(&text, term);
            prop_assert_eq!(terms, postgres(&text), "{:?}", text);
        }
    }
}
