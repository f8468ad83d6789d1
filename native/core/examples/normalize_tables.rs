//! Generates the tables of /v1/normalize:
//! `cargo run -p fusegate-core --example normalize_tables -- FOLDER` from the project's root.
//! FOLDER holds `confusables.txt` (UTS #39, from unicode.org), and `annotations.json` and
//! `annotationsDerived.json` (English, out of the npm packages cldr-annotations-full and
//! cldr-annotations-derived-full). Everything else comes from ICU4X 2.1, unicode-normalization 0.1.25 and
//! encoding_rs.

#[path = "normalize_tables/mojibake.rs"]
mod mojibake;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use icu_properties::props::{
    DefaultIgnorableCodePoint, Emoji, ExtendedPictographic, GeneralCategory, GeneralCategoryGroup,
    JoiningType, Script,
};
use icu_properties::script::ScriptWithExtensions;
use icu_properties::{CodePointMapData, CodePointSetData};
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use mojibake::Suspects;

/// Version that every source must have.
const UNICODE: &str = "17.0.0";
const CLDR: &str = "48.2.0";

/// The repair's action at a character; the numbers are `Action`'s in `normalize/properties.rs`.
mod action {
    pub const MAP: u16 = 1;
    pub const COMPOSE: u16 = 2;
    pub const MARK: u16 = 3;
    pub const CONFUSABLE: u16 = 4;
    pub const INVISIBLE: u16 = 5;
    pub const JOINER: u16 = 6;
    pub const VARIATION: u16 = 7;
    pub const TAG: u16 = 8;
    pub const CONTROL: u16 = 9;
    pub const SUPERSCRIPT: u16 = 10;
    pub const SUBSCRIPT: u16 = 11;
    pub const FRACTION: u16 = 12;
    pub const ENCLOSED: u16 = 13;
    pub const WIDE: u16 = 14;
    pub const SLASH: u16 = 15;
}

/// The class of a character, above the action's four bits.
mod flag {
    pub const WORD: u16 = 1 << 4;
    pub const LETTER: u16 = 1 << 5;
    pub const LATIN: u16 = 1 << 6;
    pub const NEUTRAL: u16 = 1 << 7;
    pub const HAN_KANA: u16 = 1 << 8;
    pub const JOINING: u16 = 1 << 9;
    pub const EMOJI: u16 = 1 << 10;
    pub const PICTOGRAPH: u16 = 1 << 11;
    pub const NAMED: u16 = 1 << 12;
    pub const DIGIT: u16 = 1 << 13;
    pub const IGNORABLE: u16 = 1 << 14;
    pub const WIDE_NEIGHBOUR: u16 = 1 << 15;
}

/// Kinds of changes; the numbers are `Kind`'s in `normalize/properties.rs`.
mod kind {
    pub const SPACE: u8 = 6;
    pub const QUOTE: u8 = 7;
    pub const DASH: u8 = 8;
    pub const COMPATIBILITY: u8 = 9;
    pub const ENCLOSED: u8 = 12;
}

/// The acute accent with a width of its own (U+00B4, canonically also U+1FFD) is what is typed for an
/// apostrophe.
const SINGLE_QUOTES: &str = "\u{2018}\u{2019}\u{201A}\u{201B}\u{2039}\u{203A}\u{2BC}\u{B4}\u{1FFD}";
const DOUBLE_QUOTES: &str = "\u{201C}\u{201D}\u{201E}\u{201F}\u{AB}\u{BB}";
const DASHES: &str = "\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212}\u{2E3A}\u{2E3B}";

/// U+FDFA and U+FDFB, whose decompositions are sentences.
const LIGATURES_KEPT: [char; 2] = ['\u{FDFA}', '\u{FDFB}'];

/// Signs whose compatibility forms are words: glued to a neighbour they would make another word of it.
const SIGNS_OF_LETTERS: [char; 5] = ['\u{2116}', '\u{2120}', '\u{2121}', '\u{2122}', '\u{213B}'];

/// Zero-width and bidirectional controls, soft hyphen, blank fillers and annotation marks.
const INVISIBLE: &[std::ops::RangeInclusive<u32>] = &[
    0xAD..=0xAD,
    0x34F..=0x34F,
    0x61C..=0x61C,
    0x200B..=0x200B,
    0x200E..=0x200F,
    0x202A..=0x202E,
    0x2060..=0x206F,
    0x3164..=0x3164,
    0xFEFF..=0xFEFF,
    0xFFA0..=0xFFA0,
    0xFFF9..=0xFFFB,
];
const SUPERSCRIPTS: &[std::ops::RangeInclusive<u32>] =
    &[0xB2..=0xB3, 0xB9..=0xB9, 0x2070..=0x2071, 0x2074..=0x207F];
const SUBSCRIPTS: &[std::ops::RangeInclusive<u32>] =
    &[0x2080..=0x208E, 0x2090..=0x209C, 0x1D62..=0x1D6A, 0x2C7C..=0x2C7C];
const FRACTIONS: &[std::ops::RangeInclusive<u32>] = &[0xBC..=0xBE, 0x2150..=0x215F, 0x2189..=0x2189];
const ENCLOSED: &[std::ops::RangeInclusive<u32>] = &[0x2460..=0x24FF, 0x3200..=0x32FF, 0x1F100..=0x1F2FF];

fn within(ranges: &[std::ops::RangeInclusive<u32>], c: char) -> bool {
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}

fn nfkc(text: &str) -> String {
    text.nfkc().collect()
}

/// The plain form of a quote, dash or space.
fn plain(c: char) -> Option<(&'static str, u8)> {
    if SINGLE_QUOTES.contains(c) {
        Some(("'", kind::QUOTE))
    } else if DOUBLE_QUOTES.contains(c) {
        Some(("\"", kind::QUOTE))
    } else if DASHES.contains(c) {
        Some(("-", kind::DASH))
    } else if c != ' ' && !c.is_ascii() && c.is_whitespace() {
        Some((" ", kind::SPACE))
    } else {
        None
    }
}

/// A character's compatibility form with the plain forms of what is in it, NFKC throughout.
fn repaired(c: char) -> String {
    let mut text = match plain(c) {
        Some((to, _)) => to.to_owned(),
        None => nfkc(c.encode_utf8(&mut [0; 4])),
    };
    loop {
        let fraction = within(FRACTIONS, c);
        let next: String = text
            .chars()
            .map(|part| match plain(part) {
                Some((to, _)) => to.to_owned(),
                None if fraction && part == '\u{2044}' => "/".to_owned(),
                None => part.to_string(),
            })
            .collect();
        let next = nfkc(&next);
        if next == text {
            return text;
        }
        text = next;
    }
}

struct Properties {
    named: BTreeSet<char>,
    confusable: BTreeMap<char, char>,
    joining_scripts: BTreeSet<u16>,
}

impl Properties {
    /// True if only the compatibility decomposition changes the character. Accents with a width of their own
    /// stay: NFKC puts a space before the accent, which cuts a word and puts the accent on its second half.
    fn compatible(c: char) -> bool {
        !LIGATURES_KEPT.contains(&c) && c.nfkd().ne(c.nfd()) && !Self::spacing_accent(c)
    }

    /// True if a character decomposes into a space with accents.
    fn spacing_accent(c: char) -> bool {
        let mut parts = c.nfkd();
        parts.next() == Some(' ')
            && parts
                .next()
                .is_some_and(|part| canonical_combining_class(part) != 0)
    }

    fn action(&self, c: char) -> u16 {
        let code = u32::from(c);
        match c {
            '\u{200C}' | '\u{200D}' | '\u{180E}' => action::JOINER,
            '\u{FE0E}' | '\u{FE0F}' => action::VARIATION,
            '\u{E0001}' | '\u{E0020}'..='\u{E007F}' => action::TAG,
            '\n' | '\t' => 0,
            '\u{85}' => action::MAP,
            '\u{2032}' | '\u{2044}' => action::SLASH,
            _ if c.is_control() => action::CONTROL,
            _ if within(INVISIBLE, c) => action::INVISIBLE,
            _ if within(SUPERSCRIPTS, c) => action::SUPERSCRIPT,
            _ if within(SUBSCRIPTS, c) => action::SUBSCRIPT,
            _ if within(FRACTIONS, c) => action::FRACTION,
            _ if within(ENCLOSED, c) && Self::compatible(c) => action::ENCLOSED,
            _ if SIGNS_OF_LETTERS.contains(&c) => action::ENCLOSED,
            _ if (0xFF01..=0xFF60).contains(&code) && is_punctuation(c) => action::WIDE,
            _ if plain(c).is_some() || Self::compatible(c) => action::MAP,
            _ if is_nfc_quick(std::iter::once(c)) != IsNormalized::Yes => action::COMPOSE,
            _ if canonical_combining_class(c) != 0 => action::MARK,
            _ if self.confusable.contains_key(&c) => action::CONFUSABLE,
            _ => 0,
        }
    }

    fn flags(&self, c: char) -> u16 {
        let scripts = ScriptWithExtensions::new();
        let word = in_group(c, word_group());
        let has = |script| scripts.has_script(c, script);
        let kana_han = [Script::Han, Script::Hiragana, Script::Katakana]
            .into_iter()
            .any(has);
        let extensions = scripts.get_script_extensions_val(c);
        let neutral = extensions
            .iter()
            .all(|s| s == Script::Common || s == Script::Inherited);
        let joining = extensions
            .iter()
            .any(|s| self.joining_scripts.contains(&s.to_icu4c_value()));
        let letter_or_mark = in_group(c, GeneralCategoryGroup::Letter.union(GeneralCategoryGroup::Mark));
        let neighbour =
            is_punctuation(c) && (matches!(u32::from(c), 0x3000..=0x303F | 0x30FB | 0xFF01..=0xFF65));
        let set = |condition, flag| if condition { flag } else { 0 };
        set(word, flag::WORD)
            | set(in_group(c, GeneralCategoryGroup::Letter), flag::LETTER)
            | set(has(Script::Latin), flag::LATIN)
            | set(neutral, flag::NEUTRAL)
            | set(word && kana_han, flag::HAN_KANA)
            | set(letter_or_mark && joining, flag::JOINING)
            | set(
                !c.is_ascii() && CodePointSetData::new::<Emoji>().contains(c),
                flag::EMOJI,
            )
            | set(
                CodePointSetData::new::<ExtendedPictographic>().contains(c),
                flag::PICTOGRAPH,
            )
            | set(self.named.contains(&c), flag::NAMED)
            | set(in_group(c, GeneralCategoryGroup::DecimalNumber), flag::DIGIT)
            | set(
                CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c),
                flag::IGNORABLE,
            )
            | set(neighbour, flag::WIDE_NEIGHBOUR)
    }
}

fn in_group(c: char, group: GeneralCategoryGroup) -> bool {
    group.contains(CodePointMapData::<GeneralCategory>::new().get(c))
}

fn word_group() -> GeneralCategoryGroup {
    GeneralCategoryGroup::Letter
        .union(GeneralCategoryGroup::Number)
        .union(GeneralCategoryGroup::Mark)
}

fn is_punctuation(c: char) -> bool {
    in_group(c, GeneralCategoryGroup::Punctuation)
}

/// Scripts whose letters join (UAX #44, Joining_Type) or have a virama (combining class 9): what a zero-width
/// joiner or non-joiner between their letters means something to.
fn joining_scripts() -> BTreeSet<u16> {
    let scripts = ScriptWithExtensions::new();
    let joining = CodePointMapData::<JoiningType>::new();
    ('\u{80}'..=char::MAX)
        .filter(|&c| {
            let kind = joining.get(c);
            canonical_combining_class(c) == 9
                || [
                    JoiningType::DualJoining,
                    JoiningType::RightJoining,
                    JoiningType::LeftJoining,
                ]
                .contains(&kind)
        })
        .map(|c| scripts.get_script_val(c))
        .filter(|&script| script != Script::Common && script != Script::Inherited)
        .map(|script| script.to_icu4c_value())
        .collect()
}

/// Every line of confusables.txt: a character and its prototype.
fn prototypes(text: &str) -> BTreeMap<char, String> {
    assert!(
        text.contains(&format!("# Version: {UNICODE}")),
        "confusables.txt is of another version"
    );
    let decode = |codes: &str| -> String {
        codes
            .split_whitespace()
            .map(|code| char::from_u32(u32::from_str_radix(code, 16).expect("a code")).expect("a character"))
            .collect()
    };
    text.trim_start_matches('\u{FEFF}')
        .lines()
        .filter_map(|line| line.split('#').next()?.split_once(';'))
        .map(|(from, rest)| {
            let from = decode(from);
            let to = decode(rest.split(';').next().expect("a prototype"));
            (from.chars().next().expect("a character"), to)
        })
        .collect()
}

/// Letters that are confusable with one Latin letter. The prototype of I, l and | is l: a capital maps to I.
fn latin_confusables(prototypes: &BTreeMap<char, String>) -> BTreeMap<char, char> {
    let mut found = BTreeMap::new();
    for (&from, to) in prototypes {
        let letter = in_group(from, GeneralCategoryGroup::Letter);
        let [only] = to.as_bytes() else { continue };
        if from.is_ascii() || !letter || !only.is_ascii_alphabetic() || repaired(from) != from.to_string() {
            continue;
        }
        let upper = in_group(from, GeneralCategoryGroup::UppercaseLetter);
        found.insert(
            from,
            if upper && *only == b'l' {
                'I'
            } else {
                char::from(*only)
            },
        );
    }
    found
}

/// Names by sequence, variation selectors left out; only emoji and symbols that repair leaves as they are.
fn names(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (file, key) in [
        ("annotations.json", "annotations"),
        ("annotationsDerived.json", "annotationsDerived"),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("the CLDR file");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for (sequence, entry) in json[key]["annotations"].as_object().expect("annotations") {
            let Some(name) = entry["tts"][0].as_str() else {
                continue;
            };
            let sequence: String = sequence
                .chars()
                .filter(|&c| c != '\u{FE0F}' && c != '\u{FE0E}')
                .collect();
            let first = sequence.chars().next().expect("a sequence");
            let symbol = in_group(first, GeneralCategoryGroup::Symbol)
                || CodePointSetData::new::<Emoji>().contains(first);
            let keycap = sequence.ends_with('\u{20E3}');
            let stays = sequence.chars().all(|c| repaired(c) == c.to_string());
            if symbol && stays && (keycap || !sequence.is_ascii()) {
                let name: String = name.chars().map(repaired).collect();
                found.insert(sequence, nfkc(&name));
            }
        }
    }
    found
}

fn two_stage<T: Clone + PartialEq>(values: &[T], size: usize) -> (Vec<usize>, Vec<Vec<T>>) {
    let mut blocks: Vec<Vec<T>> = Vec::new();
    let index = values
        .chunks(size)
        .map(|block| {
            blocks.iter().position(|known| known == block).unwrap_or_else(|| {
                blocks.push(block.to_vec());
                blocks.len() - 1
            })
        })
        .collect();
    (index, blocks)
}

/// Writes a static array of `kind`s.
fn write_table<T: std::fmt::Debug>(
    out: &mut String,
    name: &str,
    kind: &str,
    rows: impl IntoIterator<Item = T>,
) {
    let rows: Vec<T> = rows.into_iter().collect();
    let count = rows.len();
    let _ = writeln!(
        out,
        "\n#[rustfmt::skip]\npub(crate) static {name}: [{kind}; {count}] = ["
    );
    for row in rows {
        let _ = writeln!(out, "{row:?},");
    }
    out.push_str("];\n");
}

fn maps() -> Vec<(u32, String, u8)> {
    ('\u{80}'..=char::MAX)
        .filter(|&c| !LIGATURES_KEPT.contains(&c) && !within(INVISIBLE, c))
        .filter(|&c| plain(c).is_some() || Properties::compatible(c))
        .map(|c| {
            let otherwise = if within(ENCLOSED, c) {
                kind::ENCLOSED
            } else {
                kind::COMPATIBILITY
            };
            let kind = plain(c).map_or(otherwise, |(_, kind)| kind);
            (u32::from(c), repaired(c), kind)
        })
        .collect()
}

/// A two-stage table: which block of 128 each stretch of code points is, and the blocks.
fn write_stages<T: Clone + PartialEq + std::fmt::Debug>(
    out: &mut String,
    name: &str,
    kind: &str,
    values: &[T],
) {
    let (index, blocks) = two_stage(values, 128);
    let length = index.len();
    let _ = write!(
        out,
        "\n#[rustfmt::skip]\npub(crate) static {name}_BLOCK: [u16; {length}] = {index:?};\n"
    );
    write_table(out, name, &format!("[{kind}; 128]"), blocks);
}

fn properties_tables(out: &mut String, properties: &Properties, suspects: &Suspects) {
    let value = |c: char| {
        let classes = suspects.get(&c).map_or(0, |suspect| suspect.0);
        u32::from(properties.action(c) | properties.flags(c)) | u32::from(classes) << 16
    };
    let values: Vec<u32> = (0..0x11_0000)
        .map(|code| char::from_u32(code).map_or(0, value))
        .collect();
    write_stages(out, "PROPERTIES", "u32", &values);
}

fn map_tables(out: &mut String) {
    let maps = maps();
    let mut places = vec![0u16; 0x11_0000];
    for (place, (code, _, _)) in maps.iter().enumerate() {
        places[*code as usize] = place as u16 + 1;
    }
    write_stages(out, "MAP_PLACE", "u16", &places);
    write_table(
        out,
        "MAPS",
        "(&str, u8)",
        maps.into_iter().map(|(_, to, kind)| (to, kind)),
    );
}

/// Names, and where those of each first character begin and end.
fn name_tables(out: &mut String, names: &BTreeMap<String, String>) {
    let mut firsts: Vec<(u32, u16, u16)> = Vec::new();
    for (place, key) in names.keys().enumerate() {
        let first = key.chars().next().map_or(0, u32::from);
        match firsts.last_mut() {
            Some(last) if last.0 == first => last.2 += 1,
            _ => firsts.push((first, place as u16, place as u16 + 1)),
        }
    }
    write_table(out, "NAME_FIRSTS", "(u32, u16, u16)", firsts);
    write_table(out, "NAMES", "(&str, &str)", names);
}

fn mojibake_tables(out: &mut String, encodings: &[(&str, Vec<char>)], suspects: &Suspects) {
    let mut places = vec![0u16; 0x1_0000];
    for (place, &c) in suspects.keys().enumerate() {
        places[c as usize] = place as u16 + 1;
    }
    write_stages(out, "SUSPECT_PLACE", "u16", &places);
    let none = (0u16, 0u8, [0u8; 10]);
    let rows = std::iter::once(none).chain(suspects.values().copied());
    write_table(
        out,
        "SUSPECTS",
        "(u8, [u8; 10])",
        rows.map(|(_, clues, bytes)| (clues, bytes)),
    );
    write_table(out, "ENCODINGS", "&str", encodings.iter().map(|(name, _)| *name));
    let windows: Vec<char> = encodings[1].1[..32].to_vec();
    write_table(out, "WINDOWS_1252", "char", windows);
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).expect("usage: normalize_tables FOLDER");
    let folder = Path::new(&folder);
    let prototypes = prototypes(&std::fs::read_to_string(folder.join("confusables.txt"))?);
    assert_eq!(unicode_normalization::UNICODE_VERSION, (17, 0, 0));
    let names = names(folder);
    let properties = Properties {
        named: names.keys().filter_map(|key| key.chars().next()).collect(),
        confusable: latin_confusables(&prototypes),
        joining_scripts: joining_scripts(),
    };
    let mut out = format!(
        "//! Tables of /v1/normalize: Unicode {UNICODE} (UAX #15, #24, #44; UTS #39, #51) and CLDR {CLDR}. \
         Generated by native/core/examples/normalize_tables.rs; do not edit.\n\n\
         pub(crate) const CLDR_VERSION: &str = \"{CLDR}\";\n"
    );
    let encodings = mojibake::encodings();
    let suspects = mojibake::suspects(&encodings);
    properties_tables(&mut out, &properties, &suspects);
    map_tables(&mut out);
    write_table(
        &mut out,
        "CONFUSABLES",
        "(u32, char)",
        properties
            .confusable
            .iter()
            .map(|(&from, &to)| (u32::from(from), to)),
    );
    write_table(
        &mut out,
        "PROTOTYPES",
        "(u32, &str)",
        prototypes.iter().map(|(&from, to)| (u32::from(from), to.clone())),
    );
    name_tables(&mut out, &names);
    mojibake_tables(&mut out, &encodings, &suspects);
    std::fs::write("native/core/src/text/normalize_tables.rs", out)
}
