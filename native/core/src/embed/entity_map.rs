//! `entity_map`: replaces surface forms by plain words before a text is embedded; longest match first, in one
//! pass, case-sensitive (contract, FuseRequest).

use std::borrow::Cow;
use std::cell::Cell;

use crate::forms::{Forms, MOST_STEPS_PER_BYTE, Pairs};

/// Most bytes of all surface forms of one map.
pub const MOST_KEY_BYTES: usize = 1 << 20;
/// Most bytes of a request's mapped texts, whatever its body, equal to the limit of a body.
const MOST_MAPPED_BYTES: usize = 32 << 20;
/// Bytes that the mapped texts of any request may have besides twice its body.
const FREE_MAPPED_BYTES: usize = 16 << 10;

/// Most bytes of the texts of a request with a map, mapped or not, by the length of its body: a few short
/// pairs could make a long text of any short one.
pub fn most_bytes(body: usize) -> usize {
    MOST_MAPPED_BYTES.min(FREE_MAPPED_BYTES + 2 * body)
}

/// Why a map is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The surface forms have more than [`MOST_KEY_BYTES`].
    Keys,
    /// The texts would be longer than they may be, as by [`most_bytes`].
    Texts,
    /// The search in a text would take more than [`MOST_STEPS_PER_BYTE`].
    Search,
}

impl Refused {
    /// The reason as the API states it.
    pub fn text(self) -> String {
        match self {
            Self::Keys => format!("its keys have more than {MOST_KEY_BYTES} bytes in all"),
            Self::Texts => format!(
                "it makes the texts longer than twice the body and {FREE_MAPPED_BYTES} bytes, or than \
                 {MOST_MAPPED_BYTES} bytes, in all"
            ),
            Self::Search => {
                format!(
                    "many keys begin alike, and as the texts do at many places: the search takes more than \
                 {MOST_STEPS_PER_BYTE} steps a byte"
                )
            }
        }
    }
}

/// A map for the texts of one request.
#[derive(Debug, Default)]
pub struct EntityMap {
    /// `None` if the map is empty.
    forms: Option<Forms>,
    /// Bytes of further texts that are allowed.
    left: usize,
}

impl EntityMap {
    /// A map of pairs: a non-empty surface form and its substitute; the last of equal forms counts. `left`:
    /// most bytes of all texts, mapped or not; an empty map has no limit.
    ///
    /// # Errors
    /// [`Refused::Keys`]
    pub fn new(pairs: Pairs, left: usize) -> Result<Self, Refused> {
        if pairs.is_empty() {
            return Ok(Self { forms: None, left });
        }
        let forms = Forms::new(pairs);
        if forms.bytes() > MOST_KEY_BYTES {
            return Err(Refused::Keys);
        }
        let forms = Some(forms);
        Ok(Self { forms, left })
    }

    /// A text with its surface forms replaced.
    ///
    /// # Errors
    /// [`Refused::Texts`], over all texts of this map; [`Refused::Search`].
    pub fn apply<'a>(&mut self, text: &'a str) -> Result<Cow<'a, str>, Refused> {
        let Some(forms) = &self.forms else {
            return Ok(Cow::Borrowed(text));
        };
        let mut mapped = String::new();
        let mut done = 0;
        // One more, since the search ends where none is left.
        let steps = Cell::new(MOST_STEPS_PER_BYTE * text.len() + 1);
        for found in forms.find(text, &steps) {
            mapped.push_str(&text[done..found.place.start]);
            mapped.push_str(found.word);
            done = found.place.end;
            if mapped.len() > self.left {
                return Err(Refused::Texts);
            }
        }
        if steps.get() == 0 {
            return Err(Refused::Search);
        }
        let length = mapped.len() + text.len() - done;
        self.left = self.left.checked_sub(length).ok_or(Refused::Texts)?;
        if done == 0 {
            return Ok(Cow::Borrowed(text));
        }
        mapped.push_str(&text[done..]);
        Ok(Cow::Owned(mapped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map_of(pairs: &[(String, String)]) -> Result<EntityMap, Refused> {
        let pairs = pairs.iter().map(|(form, word)| (form.as_str(), word.as_str()));
        EntityMap::new(pairs.collect(), MOST_MAPPED_BYTES)
    }

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
            let mut map = map_of(&pairs).expect("short keys");
            let mapped = map.apply(&text).expect("a short text");
            prop_assert_eq!(mapped.as_ref(), naive(&pairs, &text));
        }
    }

    #[test]
    fn what_grows_too_much_is_refused() {
        let pair = |form: &str, substitute: String| (form.to_owned(), substitute);
        let mut map = map_of(&[pair("a", "b".repeat(1 << 20))]).expect("a short key");
        assert_eq!(map.apply(&"a".repeat(33)), Err(Refused::Texts));
        assert!(map.apply(&"a".repeat(31)).is_ok());
        assert!(map.apply("aa").is_err());
        assert!(map.apply("c").is_ok());
        assert_eq!(map.apply(&"c".repeat(1 << 20)), Err(Refused::Texts));
        assert_eq!(most_bytes(0), 16 << 10);
        assert_eq!(most_bytes(5_000), (16 << 10) + 10_000);
        assert_eq!(most_bytes(32 << 20), 32 << 20);
        let keys = [pair(&"k".repeat(MOST_KEY_BYTES + 1), String::new())];
        assert!(matches!(map_of(&keys), Err(Refused::Keys)));
    }

    #[test]
    fn a_search_that_would_go_on_and_on_is_refused() {
        let pair = |form: &str| (form.to_owned(), "x".to_owned());
        let long = format!("{}b", "a".repeat(1 << 19));
        let mut map = map_of(&[pair("a"), pair(&long)]).expect("keys of half a MiB");
        assert_eq!(map.apply(&"a".repeat(1 << 20)), Err(Refused::Search));
        assert_eq!(map.apply(&long).expect("one match").as_ref(), "x");
        let nested: Vec<_> = (1..=1_000).map(|length| pair(&"a".repeat(length))).collect();
        let mut map = map_of(&nested).expect("keys of half a MB");
        assert_eq!(map.apply(&"a".repeat(10_000)).expect("long matches").len(), 10);
    }
}
