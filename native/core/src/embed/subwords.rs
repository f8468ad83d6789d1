//! The subword tokenizer of an embedding model: `tokenizer.json` of Hugging Face's tokenizers (WordPiece,
//! Unigram, BPE). Text becomes token ids, cut to the length that the model reads.

use std::borrow::Cow;

use tokenizers::{Encoding, Model, PostProcessor, Tokenizer, TruncationDirection};

use super::sight::Sight;
use crate::unicode::beginning;

/// Bytes of a text examined per token that the model reads: a text with more bytes per token is not prose,
/// and megabytes of it must not delay other requests.
pub const READ_BYTES_PER_TOKEN: usize = 256;

/// Bytes per token that are tokenized at first; in nearly every text, tokens have fewer bytes.
const FIRST_BYTES_PER_TOKEN: usize = 8;

/// Tokens that a cut text must have beyond those that are used, so that none of the used ones comes from its
/// last word, which the cut may have changed.
const MARGIN: usize = 128;

/// A text's tokens for its model.
#[derive(Debug, PartialEq, Eq)]
pub struct Subwords {
    /// Token ids, including the special ones.
    pub ids: Vec<u32>,
    /// The text was cut.
    pub truncated: bool,
    /// Known share of the text, without its prefix.
    pub sight: Sight,
}

/// A tokenizer, and the number of tokens that its model reads.
pub struct SubwordTokenizer {
    tokenizer: Tokenizer,
    max_tokens: usize,
    /// Number of special tokens in every text.
    specials: usize,
    largest_id: u32,
    /// Token for text outside the vocabulary.
    unknown: Option<u32>,
    /// The prefixes that a text may have, each with its number of known tokens.
    prefixes: Vec<(String, usize)>,
}

impl SubwordTokenizer {
    /// Parses a `tokenizer.json`; its own padding and truncation are not used. `max_tokens`: most tokens of
    /// the model, including special ones. `prefixes`: what callers put before a text. An error is the rest of
    /// a sentence that begins with "tokenizer.json".
    pub fn new(json: &[u8], max_tokens: usize, prefixes: &[&str]) -> Result<Self, String> {
        let mut tokenizer =
            Tokenizer::from_bytes(json).map_err(|error| format!("cannot be read ({error})"))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| format!("cannot be used ({error})"))?;
        let specials = tokenizer
            .get_post_processor()
            .map_or(0, |each| each.added_tokens(false));
        if specials == 0 {
            return Err("adds no special tokens, which a sentence model needs".to_owned());
        }
        if specials >= max_tokens {
            return Err(format!(
                "adds {specials} special tokens where the model reads {max_tokens}"
            ));
        }
        let largest_id = tokenizer.get_vocab(true).into_values().max().unwrap_or(0);
        let unknown = unknown_token(&tokenizer);
        let mut read = Self {
            tokenizer,
            max_tokens,
            specials,
            largest_id,
            unknown,
            prefixes: Vec::new(),
        };
        read.check_specials()?;
        for &prefix in prefixes.iter().filter(|prefix| !prefix.is_empty()) {
            let encoding = read
                .tokenizer
                .encode_fast(prefix, false)
                .map_err(|error| error.to_string())?;
            let (known, _) = read.known(&encoding);
            read.prefixes.push((prefix.to_owned(), known));
        }
        Ok(read)
    }

    /// Numbers of known tokens, punctuation aside, and of unknown ones.
    fn known(&self, encoding: &Encoding) -> (usize, usize) {
        let is_word = |id: &&u32| {
            let token = self.tokenizer.id_to_token(**id).unwrap_or_default();
            token.chars().any(char::is_alphanumeric)
        };
        let ids = encoding.get_ids().iter();
        let (unknown, known): (Vec<&u32>, Vec<&u32>) = ids.partition(|&&id| Some(id) == self.unknown);
        (known.iter().filter(|id| is_word(id)).count(), unknown.len())
    }

    /// Known share of the part of a text that the model reads.
    fn sight(&self, text: &str, encoding: &Encoding) -> Sight {
        let Some(unknown) = self.unknown else {
            return Sight::Clear;
        };
        if !encoding.get_ids().contains(&unknown) {
            return Sight::Clear;
        }
        let (known, unknown) = self.known(encoding);
        let fitting = self
            .prefixes
            .iter()
            .filter(|(prefix, _)| text.starts_with(prefix));
        let of_prefix = fitting.map(|&(_, known)| known).max().unwrap_or(0);
        Sight::of(known.saturating_sub(of_prefix), unknown)
    }

    /// Checks that the special tokens of every text are in the vocabulary.
    fn check_specials(&self) -> Result<(), String> {
        let empty = self
            .tokenizer
            .encode_fast("", true)
            .map_err(|error| error.to_string())?;
        if empty.len() != self.specials {
            return Err("gives an empty text other tokens than the special ones".to_owned());
        }
        // The post-processor gives both names and ids: only the vocabulary can confirm that they match.
        for (token, &id) in empty.get_tokens().iter().zip(empty.get_ids()) {
            if self.tokenizer.token_to_id(token) != Some(id) {
                return Err(format!(
                    "adds the special token {token}, which is not in its vocabulary"
                ));
            }
        }
        Ok(())
    }

    /// The largest id that it can output.
    pub fn largest_id(&self) -> u32 {
        self.largest_id
    }

    /// Token ids of a text. Invalid UTF-8 counts as U+FFFD. At most [`READ_BYTES_PER_TOKEN`] bytes per token
    /// of the model are examined; the same text always gives the same ids.
    pub fn encode(&self, text: &[u8]) -> Result<Subwords, String> {
        let limit = self.max_tokens * READ_BYTES_PER_TOKEN;
        let read = readable(text, limit);
        let cut = text.len() > limit;
        let mut window = self.max_tokens * FIRST_BYTES_PER_TOKEN;
        loop {
            let beginning = beginning(&read, window);
            let encoding = self
                .tokenizer
                .encode_fast(beginning, false)
                .map_err(|error| error.to_string())?;
            if beginning.len() == read.len() || encoding.len() > self.max_tokens + MARGIN {
                return self.finish(&read, encoding, cut);
            }
            window *= 4;
        }
    }

    /// Cuts tokens that do not fit and adds the special ones.
    fn finish(&self, text: &str, mut encoding: Encoding, cut: bool) -> Result<Subwords, String> {
        let room = self.max_tokens - self.specials;
        let truncated = cut || encoding.len() > room;
        encoding.truncate(room, 0, TruncationDirection::Right);
        let sight = self.sight(text, &encoding);
        let whole = self
            .tokenizer
            .post_process(encoding, None, true)
            .map_err(|error| error.to_string())?;
        Ok(Subwords {
            ids: whole.get_ids().to_vec(),
            truncated,
            sight,
        })
    }
}

/// The token for everything outside the vocabulary; `None` if the vocabulary has bytes.
fn unknown_token(tokenizer: &Tokenizer) -> Option<u32> {
    // A noncharacter, which no vocabulary contains.
    let tokens = tokenizer.get_model().tokenize("\u{10FFFF}").ok()?;
    match &tokens[..] {
        [token] => Some(token.id),
        _ => None,
    }
}

/// The first part of a text, cut between characters.
fn readable(text: &[u8], limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return String::from_utf8_lossy(text);
    }
    let is_inside = |at: &usize| text[*at] & 0xC0 == 0x80;
    let end = (limit.saturating_sub(3)..=limit)
        .rev()
        .find(|at| !is_inside(at))
        .unwrap_or(limit);
    String::from_utf8_lossy(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::sync::LazyLock;

    const LENGTH: usize = 256;

    fn shipped_json() -> Vec<u8> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../models/all-MiniLM-L6-v2/tokenizer.json"
        );
        std::fs::read(path).expect("the shipped tokenizer")
    }

    static SHIPPED: LazyLock<SubwordTokenizer> =
        LazyLock::new(|| SubwordTokenizer::new(&shipped_json(), LENGTH, &[]).expect("the shipped tokenizer"));

    /// The obvious implementation: the whole text at once, then cut.
    fn naive(text: &str) -> Subwords {
        let whole = SHIPPED.tokenizer.encode_fast(text, false).expect("tokens");
        let room = LENGTH - 2;
        let mut ids = vec![101];
        ids.extend(whole.get_ids().iter().take(room));
        ids.push(102);
        let named = SHIPPED.tokenizer.encode(text, false).expect("tokens");
        let kept = named.get_tokens().iter().take(room);
        let (unknown, known): (Vec<_>, Vec<_>) = kept.partition(|token| *token == "[UNK]");
        let words = known
            .iter()
            .filter(|token| token.chars().any(char::is_alphanumeric));
        Subwords {
            ids,
            truncated: whole.len() > room,
            sight: Sight::of(words.count(), unknown.len()),
        }
    }

    #[test]
    fn agrees_with_the_tokenizers_package() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../test/vectors/embed.jsonl");
        let lines = std::fs::read_to_string(path).expect("the vectors");
        for line in lines.lines() {
            let vector: Value = serde_json::from_str(line).expect("JSON");
            let text = vector["text"].as_str().expect("a text");
            let encoded = SHIPPED.encode(text.as_bytes()).expect("ids");
            assert_eq!(json!(encoded.ids), vector["ids"], "{text:.60}");
            assert_eq!(json!(encoded.truncated), vector["truncated"], "{text:.60}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn reading_in_windows_changes_nothing(
            pieces in prop::collection::vec(
                prop_oneof![
                    "[a-z]{1,12} ", "[a-z0-9.,;-]{1,30}", "[一-龠]{1,40}", "[ \t\n]{1,20}", "\\PC{1,20}",
                    "[a-z]{90,300}", "[\u{300}-\u{310}]{1,3}",
                ],
                0..400,
            ),
        ) {
            let text = pieces.concat();
            prop_assume!(text.len() <= LENGTH * READ_BYTES_PER_TOKEN);
            prop_assert_eq!(SHIPPED.encode(text.as_bytes()).expect("ids"), naive(&text));
        }

        #[test]
        fn any_bytes_have_ids(bytes in prop::collection::vec(any::<u8>(), 0..3_000)) {
            let encoded = SHIPPED.encode(&bytes).expect("ids");
            prop_assert!(encoded.ids.len() >= 2 && encoded.ids.len() <= LENGTH);
            prop_assert!(encoded.ids.iter().all(|&id| id <= SHIPPED.largest_id()));
        }
    }

    #[test]
    fn a_text_of_megabytes_is_read_up_to_the_limit() {
        let limit = LENGTH * READ_BYTES_PER_TOKEN;
        for character in ["a", "é", "支", "🙂", " "] {
            let text = character.repeat((2 << 20) / character.len());
            let encoded = SHIPPED.encode(text.as_bytes()).expect("ids");
            let whole = limit / character.len() * character.len();
            let expected = SHIPPED.encode(&text.as_bytes()[..whole]).expect("ids");
            assert_eq!(encoded.ids, expected.ids, "{character}");
            assert!(encoded.truncated);
        }
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Result<SubwordTokenizer, String> {
        let mut value: Value = serde_json::from_slice(&shipped_json()).expect("JSON");
        change(&mut value);
        SubwordTokenizer::new(value.to_string().as_bytes(), LENGTH, &[])
    }

    fn wrong(read: Result<SubwordTokenizer, String>) -> String {
        read.err().expect("refused")
    }

    #[test]
    fn a_text_of_a_script_that_the_vocabulary_lacks_is_blind_whatever_stands_before_it() {
        let prefixes = ["search: ", "search: the title "];
        let with = SubwordTokenizer::new(&shipped_json(), LENGTH, &prefixes).expect("a tokenizer");
        let sight = |text: &str| with.encode(text.as_bytes()).expect("ids").sight;
        for (text, expected) in [
            ("番茄", Sight::Blind),
            ("番茄。", Sight::Blind),
            ("search: 番茄", Sight::Blind),
            ("search: the title 番茄", Sight::Blind),
            ("search: 番茄 x", Sight::Dim),
            ("search: 番茄 my phone", Sight::Clear),
            ("search: ", Sight::Clear),
            ("...", Sight::Clear),
            ("", Sight::Clear),
        ] {
            assert_eq!(sight(text), expected, "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(wrong(SubwordTokenizer::new(b"{}", LENGTH, &[])).starts_with("cannot be read"));
        assert!(
            wrong(SubwordTokenizer::new(&shipped_json()[..9_999], LENGTH, &[])).starts_with("cannot be read")
        );
        assert!(wrong(SubwordTokenizer::new(&shipped_json(), 2, &[])).contains("2 special tokens"));
        let none = changed(|value| value["post_processor"] = Value::Null);
        assert!(wrong(none).contains("no special tokens"));
        let missing = changed(|value| {
            value["added_tokens"] = json!([]);
            value["model"]["vocab"]
                .as_object_mut()
                .expect("a vocabulary")
                .remove("[SEP]");
        });
        assert!(wrong(missing).contains("[SEP]"));
    }

    fn template() -> Value {
        let special = |id: u32, token: &str| json!({"id": token, "ids": [id], "tokens": [token]});
        json!({
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "</s>", "type_id": 0}}
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": special(0, "<s>"), "</s>": special(1, "</s>")}
        })
    }

    fn read_by(parts: Value, text: &str) -> Subwords {
        let mut whole = json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "decoder": null, "post_processor": template()
        });
        for (name, part) in parts.as_object().expect("an object") {
            whole[name] = part.clone();
        }
        let tokenizer = SubwordTokenizer::new(whole.to_string().as_bytes(), 16, &[]).expect("a tokenizer");
        tokenizer.encode(text.as_bytes()).expect("ids")
    }

    #[test]
    fn unigram_is_read() {
        let pre_tokenizer = json!({"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}
        ]});
        let vocab = json!([
            ["<s>", 0.0],
            ["</s>", 0.0],
            ["<unk>", 0.0],
            ["▁pump", -2.0],
            ["▁", -3.0],
            ["p", -5.0],
            ["s", -5.0]
        ]);
        let model = json!({"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": false});
        let parts = json!({"pre_tokenizer": pre_tokenizer, "model": model});
        let read = read_by(parts.clone(), "pump  pumps x");
        assert_eq!(
            (&read.ids[..], read.sight),
            (&[0, 3, 3, 6, 4, 2, 1][..], Sight::Clear)
        );
        assert_eq!(read_by(parts, "x").sight, Sight::Blind);
    }

    #[test]
    fn bpe_is_read() {
        let pre_tokenizer =
            json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
        let vocab = json!({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4, "Ġ": 5, "Ġab": 6});
        let model = json!({
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab,
            "merges": [["a", "b"], ["Ġ", "ab"]]
        });
        let parts = json!({"pre_tokenizer": pre_tokenizer, "model": model});
        let read = read_by(parts, "abb ab");
        assert_eq!((&read.ids[..], read.sight), (&[0, 4, 3, 6, 1][..], Sight::Clear));
    }
}
