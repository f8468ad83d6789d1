//! Turns `ws` tokens into terms: accents folded, words stemmed by Snowball's algorithms
//! (https://snowballstem.org/), stop words left out of the query.

use std::borrow::Cow;

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;
use snowball_stemmers_rs::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

use super::stop_words;

/// Longer tokens (bytes) are not stemmed: no word is that long, and some algorithms take quadratic time.
pub const LONGEST_STEMMED: usize = 128;

/// A language by its name, with its stemmer.
pub(crate) type Language = (&'static [u8], Algorithm);

/// Every language, in the order of the names.
pub(crate) static LANGUAGES: [Language; 35] = [
    (b"arabic", Algorithm::Arabic),
    (b"armenian", Algorithm::Armenian),
    (b"basque", Algorithm::Basque),
    (b"catalan", Algorithm::Catalan),
    (b"czech", Algorithm::Czech),
    (b"danish", Algorithm::Danish),
    (b"dutch", Algorithm::Dutch),
    (b"english", Algorithm::English),
    (b"esperanto", Algorithm::Esperanto),
    (b"estonian", Algorithm::Estonian),
    (b"finnish", Algorithm::Finnish),
    (b"french", Algorithm::French),
    (b"german", Algorithm::German),
    (b"greek", Algorithm::Greek),
    (b"hindi", Algorithm::Hindi),
    (b"hungarian", Algorithm::Hungarian),
    (b"indonesian", Algorithm::Indonesian),
    (b"irish", Algorithm::Irish),
    (b"italian", Algorithm::Italian),
    (b"lithuanian", Algorithm::Lithuanian),
    (b"nepali", Algorithm::Nepali),
    (b"norwegian", Algorithm::Norwegian),
    (b"persian", Algorithm::Persian),
    (b"polish", Algorithm::Polish),
    (b"portuguese", Algorithm::Portuguese),
    (b"romanian", Algorithm::Romanian),
    (b"russian", Algorithm::Russian),
    (b"serbian", Algorithm::Serbian),
    (b"sesotho", Algorithm::Sesotho),
    (b"spanish", Algorithm::Spanish),
    (b"swedish", Algorithm::Swedish),
    (b"tamil", Algorithm::Tamil),
    (b"turkish", Algorithm::Turkish),
    (b"ukrainian", Algorithm::Ukrainian),
    (b"yiddish", Algorithm::Yiddish),
];

/// A language's stop words, sorted by their bytes.
pub(crate) type StopList = &'static [&'static str];

/// The languages that have a list of stop words.
pub(crate) static STOP_LISTS: [(&[u8], StopList); 13] = [
    (b"danish", &stop_words::DANISH),
    (b"dutch", &stop_words::DUTCH),
    (b"english", &stop_words::ENGLISH),
    (b"finnish", &stop_words::FINNISH),
    (b"french", &stop_words::FRENCH),
    (b"german", &stop_words::GERMAN),
    (b"hungarian", &stop_words::HUNGARIAN),
    (b"italian", &stop_words::ITALIAN),
    (b"norwegian", &stop_words::NORWEGIAN),
    (b"portuguese", &stop_words::PORTUGUESE),
    (b"russian", &stop_words::RUSSIAN),
    (b"spanish", &stop_words::SPANISH),
    (b"swedish", &stop_words::SWEDISH),
];

/// The stop words of a language's usual set; an empty list if it has none.
pub(crate) fn stop_list(language: &[u8]) -> StopList {
    let place = STOP_LISTS.iter().position(|(name, _)| *name == language);
    place.map_or(&[], |place| STOP_LISTS[place].1)
}

/// Rules that turn a token into its form, in queries and texts alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forms {
    /// The stemmer's algorithm, if tokens are stemmed.
    pub(crate) stemmer: Option<Algorithm>,
    /// True if accents are folded, before stemming.
    pub(crate) fold_accents: bool,
}

impl Forms {
    /// True if an ASCII token is its own form.
    #[inline]
    pub(crate) fn leaves_ascii(self) -> bool {
        self.stemmer.is_none()
    }

    /// True if every token begins with the first two bytes of its form, or its only byte, and with the first
    /// three of a form of four or more. [`Forms::of`] documents the one exception.
    #[inline]
    pub(crate) fn keeps_beginnings(self) -> bool {
        self.stemmer
            .is_none_or(|algorithm| algorithm == Algorithm::English)
    }

    /// Number of first bytes that a form shares with every ASCII token that has it, if
    /// [`Forms::keeps_beginnings`]; one more than its length if that token is always the form itself. No rule
    /// removes an ending without a vowel before it, or any from a token with a digit.
    pub(crate) fn shared_bytes(form: &[u8]) -> usize {
        match form {
            [letter] if !b"aeiouy".contains(letter) => 2,
            _ if form.iter().any(u8::is_ascii_digit) => form.len() + 1,
            [_, b'i', b'e'] => 1,
            [] | [_] | [_, _] => form.len(),
            _ => form.len() - 1,
        }
    }

    /// The form of a folded token, which is compared with terms. Empty if the token is only accents.
    ///
    /// English: the rules change nothing before the third letter, except that a letter and `ying` become
    /// that letter and `ie`. A word begins with all but the last letter of its stem: each rule removes an
    /// ending or all but its beginning, `y` becomes `i`, and `e` is added once; `bility` becomes `bl`.
    pub fn of(self, token: &str) -> Cow<'_, str> {
        let folded = if self.fold_accents {
            without_accents(token)
        } else {
            Cow::Borrowed(token)
        };
        let Some(algorithm) = self.stemmer else {
            return folded;
        };
        if folded.len() > LONGEST_STEMMED || has_digit(&folded) {
            return folded;
        }
        let stemmer = Stemmer::create(algorithm);
        match folded {
            Cow::Borrowed(word) => kept(word, stemmer.stem(word)),
            Cow::Owned(word) => Cow::Owned(kept(&word, stemmer.stem(&word)).into_owned()),
        }
    }
}

impl Forms {
    /// Language of the stemmer.
    pub(crate) fn language(self) -> Option<&'static str> {
        let (name, _) = LANGUAGES
            .iter()
            .find(|&&(_, algorithm)| Some(algorithm) == self.stemmer)?;
        std::str::from_utf8(name).ok()
    }

    /// A number that no other rules have, from 1 on.
    pub(crate) fn number(self) -> u16 {
        let language = LANGUAGES
            .iter()
            .position(|&(_, algorithm)| Some(algorithm) == self.stemmer);
        let stemmer = language.map_or(0, |place| place as u16 + 1);
        2 * stemmer + u16::from(self.fold_accents) + 1
    }
}

/// The form of a folded token in a language, with its accents; `None` for a language without a stemmer.
pub fn stem(language: &str, token: &str) -> Option<String> {
    let (_, algorithm) = LANGUAGES.iter().find(|(name, _)| *name == language.as_bytes())?;
    let forms = Forms {
        stemmer: Some(*algorithm),
        fold_accents: false,
    };
    Some(forms.of(token).into_owned())
}

/// The stem, or the word if the stem is empty.
fn kept<'a>(word: &'a str, stem: Cow<'a, str>) -> Cow<'a, str> {
    if stem.is_empty() {
        Cow::Borrowed(word)
    } else {
        stem
    }
}

/// True if a token holds a decimal digit of any script.
fn has_digit(token: &str) -> bool {
    if token.is_ascii() {
        return token.bytes().any(|byte| byte.is_ascii_digit());
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    token
        .chars()
        .any(|character| categories.get(character) == GeneralCategory::DecimalNumber)
}

/// A folded token, canonically decomposed, without the marks of the block Combining Diacritical Marks, and
/// composed again, with plain letters for those that do not decompose.
fn without_accents(token: &str) -> Cow<'_, str> {
    if token.is_ascii() {
        return Cow::Borrowed(token);
    }
    let plain: String = token
        .nfd()
        .filter(|mark| !('\u{300}'..='\u{36F}').contains(mark))
        .nfc()
        .collect();
    if !plain.chars().any(|letter| plain_letters(letter).is_some()) {
        return Cow::Owned(plain);
    }
    let mut letters = String::with_capacity(plain.len());
    for letter in plain.chars() {
        match plain_letters(letter) {
            Some(plain) => letters.push_str(plain),
            None => letters.push(letter),
        }
    }
    Cow::Owned(letters)
}

/// Plain letters for one that does not decompose.
fn plain_letters(letter: char) -> Option<&'static str> {
    Some(match letter {
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'þ' => "th",
        'ı' => "i",
        _ => return None,
    })
}

/// Words removed from the query.
#[derive(Debug, Default)]
pub enum StopWords {
    /// No words.
    #[default]
    None,
    /// A language's.
    Listed(StopList),
    /// The caller's.
    Given {
        /// Where their JSON array is in the body.
        at: usize,
        /// True if none of them has a character.
        empty: bool,
    },
}

/// Settings of a request's `analyzer`.
#[derive(Debug, Default)]
pub struct Analyzer {
    /// Rules for tokens.
    pub forms: Forms,
    /// Words that are removed from the query.
    pub stop_words: StopWords,
    /// True if query and texts are repaired as POST /v1/normalize does, before anything else.
    pub normalize: bool,
}

impl Analyzer {
    /// True if it changes nothing.
    pub(crate) fn is_plain(&self) -> bool {
        let stop_words = match &self.stop_words {
            StopWords::None => true,
            StopWords::Listed(list) => list.is_empty(),
            StopWords::Given { empty, .. } => *empty,
        };
        self.forms == Forms::default() && stop_words && !self.normalize
    }

    /// A token as compared with stop words: without accents if they are folded.
    pub(crate) fn plain<'a>(&self, token: &'a str) -> Cow<'a, str> {
        if self.forms.fold_accents {
            without_accents(token)
        } else {
            Cow::Borrowed(token)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::tokenize;
    use proptest::prelude::*;

    fn english(token: &str) -> String {
        let forms = Forms {
            stemmer: Some(Algorithm::English),
            fold_accents: false,
        };
        forms.of(token).into_owned()
    }

    /// The promise of [`Forms::keeps_beginnings`] for English.
    fn begins_alike(token: &str) -> bool {
        let stem = english(token);
        let (token, stem) = (token.as_bytes(), stem.as_bytes());
        let length = if stem.len() > 3 { 3 } else { stem.len().min(2) };
        let same = token.starts_with(&stem[..length]);
        let ying = token.len() == 5 && &token[1..] == b"ying" && stem == [token[0], b'i', b'e'];
        let padded = |bytes: &[u8]| [bytes, b"\0"].concat();
        let shared = padded(token).starts_with(&padded(stem)[..Forms::shared_bytes(stem)]);
        shared && (same || ying)
    }

    #[test]
    fn languages_and_stop_words_are_sorted_and_folded() {
        assert!(LANGUAGES.is_sorted_by_key(|&(name, _)| name));
        assert!(STOP_LISTS.is_sorted_by_key(|&(name, _)| name));
        let mut room = Vec::new();
        for (language, words) in STOP_LISTS {
            assert!(LANGUAGES.iter().any(|&(name, _)| name == language));
            assert!(words.is_sorted_by(|one, next| one.as_bytes() < next.as_bytes()));
            for word in words {
                let mut tokens = Vec::new();
                tokenize::ws(word.as_bytes(), &mut room, |token| tokens.push(token.to_vec()));
                assert_eq!(tokens, [word.as_bytes()]);
            }
        }
    }

    #[test]
    fn forms_by_hand() {
        let all = Forms {
            stemmer: Some(Algorithm::English),
            fold_accents: true,
        };
        assert_eq!(english("generalizations"), "general");
        assert_eq!(english("cases"), "case");
        assert_eq!(english("iphones15"), "iphones15");
        assert_eq!(english("running٣"), "running٣");
        assert_eq!(english(&"running".repeat(20)), "running".repeat(20));
        assert_eq!(all.of("cafés"), "cafe");
        assert_eq!(all.of("\u{301}"), "");
        assert_eq!(without_accents("smørrebrød"), "smorrebrod");
        assert_eq!(without_accents("한국어"), "한국어");
        assert_eq!(without_accents("नमस्ते"), "नमस्ते");
    }

    /// Endings that the rules remove or change, and some words, separated by spaces.
    const ENDINGS: &str = "\
        s ed ing ingly edly eedly eed y ly ies ied sses us ss e l tional enci anci abli entli izer \
        ational alism fulness ousness iveness biliti bli ogi fulli lessli li alize icate iciti ical \
        ful ness ative ement ment ent ion ism ous ize ying ski skies ogist bility ability ibilities \
        bly ably ating bled izing ization alizing ically ousli ency ancy ator ivity ality logy icity \
        lessly fully ently ously ied eedly ational icate icating able ible";

    #[test]
    fn english_stems_begin_as_their_words() {
        // Every beginning of up to three of the letters that the rules distinguish, with every ending.
        let letters = b"aeiouybgnst";
        let endings: Vec<&str> = std::iter::once("").chain(ENDINGS.split_whitespace()).collect();
        let mut word = String::new();
        for length in 0..=3u32 {
            for number in 0..letters.len().pow(length) {
                word.clear();
                let digits = (0..length).map(|at| number / letters.len().pow(at) % letters.len());
                word.extend(digits.map(|digit| char::from(letters[digit])));
                let beginning = word.len();
                for ending in &endings {
                    word.truncate(beginning);
                    word.push_str(ending);
                    assert!(
                        word.is_empty() || begins_alike(&word),
                        "{word} {}",
                        english(&word)
                    );
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn english_stems_of_any_word_begin_as_it(word in "[a-zé]{1,12}|[a-z0-9]{1,4}") {
            prop_assert!(begins_alike(&word), "{} {}", word, english(&word));
        }

        #[test]
        fn no_stemmer_stops_at_a_token(
            word in "\\w{1,40}",
            language in 0..LANGUAGES.len(),
            fold in any::<bool>(),
        ) {
            let forms = Forms { stemmer: Some(LANGUAGES[language].1), fold_accents: fold };
            let form = forms.of(&word);
            prop_assert!(fold || !form.is_empty());
            prop_assert_eq!(&form, &forms.of(&word));
        }
    }
}
