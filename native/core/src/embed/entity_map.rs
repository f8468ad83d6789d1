//! `entity_map`: replaces surface forms by plain words before a text is embedded; longest match first, in one
//! pass, case-sensitive (contract, FuseRequest).

use std::borrow::Cow;
use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Most bytes of all surface forms of one map: the search automaton takes about thirty times that.
pub const MOST_KEY_BYTES: usize = 1 << 20;
/// Most bytes of a request's mapped texts, equal to the limit of a body.
pub const MOST_MAPPED_BYTES: usize = 32 << 20;
/// Most bytes examined again, per byte of a text: those after a match that is a prefix of longer forms.
const MOST_AGAIN_PER_BYTE: usize = 16;

/// Why a map is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The surface forms have more than [`MOST_KEY_BYTES`].
    Keys,
    /// The texts would have more than [`MOST_MAPPED_BYTES`].
    Texts,
    /// A text would be examined more often than [`MOST_AGAIN_PER_BYTE`] allows.
    Search,
}

impl Refused {
    /// The reason as the API states it.
    pub fn text(self) -> String {
        match self {
            Self::Keys => format!("its keys have more than {MOST_KEY_BYTES} bytes in all"),
            Self::Texts => format!("it makes the texts longer than {MOST_MAPPED_BYTES} bytes in all"),
            Self::Search => "long keys begin with short ones that are frequent in the texts".to_owned(),
        }
    }
}

/// A map for the texts of one request.
#[derive(Debug, Default)]
pub struct EntityMap {
    /// `None` if the map is empty.
    search: Option<Search>,
    /// Bytes of mapped texts that are still allowed.
    left: usize,
}

/// Searches for the surface forms.
#[derive(Debug)]
struct Search {
    forms: AhoCorasick,
    substitutes: Vec<String>,
    /// For each form, most bytes after a match that may have been examined in vain for a longer form.
    behind: Vec<usize>,
}

/// For each form, the bytes by which the longest form that starts with it is longer.
fn behind(forms: &[String]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..forms.len()).collect();
    order.sort_unstable_by_key(|&at| &forms[at]);
    let mut behind = vec![0; forms.len()];
    // Forms that are prefixes of the current one, the shortest first.
    let mut begun: Vec<usize> = Vec::new();
    for at in order {
        while begun
            .last()
            .is_some_and(|&last| !forms[at].starts_with(&forms[last]))
        {
            begun.pop();
        }
        for &shorter in &begun {
            behind[shorter] = behind[shorter].max(forms[at].len() - forms[shorter].len());
        }
        begun.push(at);
    }
    behind
}

impl EntityMap {
    /// A map of pairs: a non-empty surface form and its substitute; the last of equal forms counts.
    ///
    /// # Errors
    /// [`Refused::Keys`]
    pub fn new(pairs: Vec<(String, String)>) -> Result<Self, Refused> {
        let left = MOST_MAPPED_BYTES;
        let distinct: HashMap<String, String> = pairs.into_iter().collect();
        if distinct.is_empty() {
            return Ok(Self { search: None, left });
        }
        if distinct.keys().map(String::len).sum::<usize>() > MOST_KEY_BYTES {
            return Err(Refused::Keys);
        }
        let (forms, substitutes): (Vec<_>, Vec<_>) = distinct.into_iter().unzip();
        let behind = behind(&forms);
        // Fails only with more forms than MOST_KEY_BYTES allows. A DFA would take many times the memory.
        let forms = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(forms)
            .map_err(|_| Refused::Keys)?;
        let search = Search {
            forms,
            substitutes,
            behind,
        };
        Ok(Self {
            search: Some(search),
            left,
        })
    }

    /// A text with its surface forms replaced.
    ///
    /// # Errors
    /// [`Refused::Texts`], over all texts of this map; [`Refused::Search`].
    pub fn apply<'a>(&mut self, text: &'a str) -> Result<Cow<'a, str>, Refused> {
        let Some(search) = &self.search else {
            return Ok(Cow::Borrowed(text));
        };
        let mut mapped = String::new();
        let mut done = 0;
        let mut again = 0;
        for found in search.forms.find_iter(text) {
            mapped.push_str(&text[done..found.start()]);
            mapped.push_str(&search.substitutes[found.pattern()]);
            done = found.end();
            again += search.behind[found.pattern()].min(text.len() - done);
            if again > MOST_AGAIN_PER_BYTE * text.len() {
                return Err(Refused::Search);
            }
            if mapped.len() > self.left {
                return Err(Refused::Texts);
            }
        }
        if done == 0 {
            return Ok(Cow::Borrowed(text));
        }
        mapped.push_str(&text[done..]);
        self.left = self.left.checked_sub(mapped.len()).ok_or(Refused::Texts)?;
        Ok(Cow::Owned(mapped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious implementation: at each character the longest form that matches there.
    fn naive(pairs: &[(String, String)], text: &str) -> String {
        let mut mapped = String::new();
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let longest = pairs
                .iter()
                .rev()
                .filter(|(form, _)| rest.starts_with(form.as_str()))
                .max_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then(std::cmp::Ordering::Greater));
            match longest {
                Some((form, substitute)) => {
                    mapped.push_str(substitute);
                    rest = &rest[form.len()..];
                }
                None => {
                    mapped.push(character);
                    rest = &rest[character.len_utf8()..];
                }
            }
        }
        mapped
    }

    proptest! {
        #[test]
        fn agrees_with_the_obvious_reading(
            pairs in prop::collection::vec(("[abé水]{1,3}", "[abcé]{0,3}"), 0..6),
            text in "[abcé水]{0,20}",
        ) {
            let mut map = EntityMap::new(pairs.clone()).expect("short keys");
            let mapped = map.apply(&text).expect("a short text");
            prop_assert_eq!(mapped.as_ref(), naive(&pairs, &text));
        }
    }

    #[test]
    fn what_grows_too_much_is_refused() {
        let pair = |form: &str, substitute: String| (form.to_owned(), substitute);
        let mut map = EntityMap::new(vec![pair("a", "b".repeat(1 << 20))]).expect("a short key");
        assert_eq!(map.apply(&"a".repeat(33)), Err(Refused::Texts));
        assert!(map.apply(&"a".repeat(31)).is_ok());
        assert!(map.apply("aa").is_err());
        assert!(map.apply("c").is_ok());
        let keys = vec![pair(&"k".repeat(MOST_KEY_BYTES + 1), String::new())];
        assert!(matches!(EntityMap::new(keys), Err(Refused::Keys)));
    }

    #[test]
    fn a_search_that_would_go_on_and_on_is_refused() {
        let pair = |form: &str| (form.to_owned(), "x".to_owned());
        let long = format!("{}b", "a".repeat(1 << 19));
        let mut map = EntityMap::new(vec![pair("a"), pair(&long)]).expect("keys of half a MiB");
        assert_eq!(map.apply(&"a".repeat(1 << 24)), Err(Refused::Search));
        assert_eq!(map.apply(&long).expect("one match").as_ref(), "x");
        let nested = (1..=1_000).map(|length| pair(&"a".repeat(length))).collect();
        let mut map = EntityMap::new(nested).expect("keys of half a MB");
        assert_eq!(map.apply(&"a".repeat(10_000)).expect("long matches").len(), 10);
    }

    #[test]
    fn what_is_behind_a_form() {
        let forms = ["ab", "b", "a", "abcd", "abx"].map(str::to_owned);
        assert_eq!(behind(&forms), [2, 0, 3, 0, 0]);
    }
}
