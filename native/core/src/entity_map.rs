//! `entity_map`: surface forms put into plain words before a text is embedded; longest match first, in one
//! pass, case-sensitive (contract, FuseRequest).

use std::borrow::Cow;
use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

/// Most bytes that the surface forms of one map have in all: what looks for them takes some thirty times
/// that.
pub const MOST_KEY_BYTES: usize = 1 << 20;
/// Most bytes that the texts of one request have after it, as many as a body may have.
pub const MOST_MAPPED_BYTES: usize = 32 << 20;

/// Why a map cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The surface forms have more than [`MOST_KEY_BYTES`].
    Keys,
    /// The texts would have more than [`MOST_MAPPED_BYTES`].
    Texts,
}

impl Refused {
    /// The reason in the words of the wire.
    pub fn text(self) -> String {
        match self {
            Self::Keys => format!("its keys have more than {MOST_KEY_BYTES} bytes in all"),
            Self::Texts => format!("it makes the texts longer than {MOST_MAPPED_BYTES} bytes in all"),
        }
    }
}

/// A map as it is applied to the texts of one request.
#[derive(Debug, Default)]
pub struct EntityMap {
    /// Nothing where the map is empty.
    search: Option<(AhoCorasick, Vec<String>)>,
    /// Bytes of mapped texts that are left.
    left: usize,
}

impl EntityMap {
    /// Of pairs of a surface form, which is not empty, and what takes its place; of equal forms the last
    /// counts.
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
        // Fails only with more patterns than there are bytes of keys.
        let search = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(forms)
            .map_err(|_| Refused::Keys)?;
        Ok(Self {
            search: Some((search, substitutes)),
            left,
        })
    }

    /// A text with the substitutes in their places.
    ///
    /// # Errors
    /// [`Refused::Texts`], counting all texts that this map was applied to.
    pub fn apply<'a>(&mut self, text: &'a str) -> Result<Cow<'a, str>, Refused> {
        let Some((search, substitutes)) = &self.search else {
            return Ok(Cow::Borrowed(text));
        };
        let mut mapped = String::new();
        let mut done = 0;
        for found in search.find_iter(text) {
            mapped.push_str(&text[done..found.start()]);
            mapped.push_str(&substitutes[found.pattern()]);
            done = found.end();
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

    /// The obvious reading: at each character the longest form that stands there.
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
}
