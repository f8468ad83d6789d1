//! Vectors of texts without a model: words hashed into a fixed number of dimensions with random signs
//! (feature hashing, Weinberger et al. 2009). Integers alone, so that a text's vector is the same everywhere
//! and for good.

use std::collections::HashMap;
use std::hash::Hasher;

use siphasher::sip::SipHasher24;

use crate::tokenize;
use crate::unicode::is_cjk;

/// Numbers of a vector.
pub const DIMENSION: usize = 256;

/// Name of what makes the vectors; another name where a text could get another vector.
pub const METHOD: &str = "hashed-words-v1";

/// A text's vector: the largest magnitude is 127, or all are 0 where the text has no words.
pub type Vector = [i8; DIMENSION];

/// Weight of a word by its characters, up to five: the short ones are mostly those that any text has.
const WEIGHT: [i32; 6] = [0, 3, 4, 9, 14, 20];
/// Weight of a pair of characters of a script that is written without spaces.
const PAIR_WEIGHT: i32 = 16;
/// Weight of a long word's beginning, by which its forms are near one another.
const STEM_WEIGHT: i32 = 12;
/// Characters of that beginning.
const STEM: usize = 5;

/// What a feature is; words, beginnings and pairs of the same letters are different ones.
#[derive(Clone, Copy)]
pub(crate) enum Feature {
    Word = 1,
    Stem = 2,
    Pair = 3,
}

/// The hash that says where a feature counts.
pub(crate) fn hash(feature: Feature, text: &str) -> u64 {
    let mut hasher = SipHasher24::new();
    hasher.write_u8(feature as u8);
    hasher.write(text.as_bytes());
    hasher.finish()
}

/// Calls `each` with every feature of a folded word and its weight.
pub(crate) fn features<'a>(word: &'a str, mut each: impl FnMut(Feature, &'a str, i32)) {
    let ends = || word.char_indices().map(|(at, one)| at + one.len_utf8());
    let length = ends().count();
    if word.chars().any(is_cjk) {
        let starts = word.char_indices().map(|(at, _)| at);
        for (start, end) in starts.zip(ends().skip(usize::from(length > 1))) {
            each(Feature::Pair, &word[start..end], PAIR_WEIGHT);
        }
        return;
    }
    each(Feature::Word, word, WEIGHT[length.min(WEIGHT.len() - 1)]);
    if let (true, Some(end)) = (length > STEM, ends().nth(STEM - 1)) {
        each(Feature::Stem, &word[..end], STEM_WEIGHT);
    }
}

/// Sixteen times the square root of how often a feature occurs.
pub(crate) fn damped(times: u32) -> i32 {
    (u64::from(times) * 256).isqrt() as i32
}

/// Adds a feature's weight at its two places.
pub(crate) fn add(sums: &mut [i64; DIMENSION], hash: u64, weight: i64) {
    for half in [hash, hash >> 32] {
        let signed = if half & 0x100 == 0 { weight } else { -weight };
        sums[(half & 0xFF) as usize] += signed;
    }
}

/// Scales sums to the range of a byte, halves away from zero.
pub(crate) fn quantize(sums: &[i64; DIMENSION]) -> Vector {
    let largest = sums.iter().map(|sum| sum.abs()).max().unwrap_or(0).max(1);
    sums.map(|sum| {
        let magnitude = (sum.abs() * 127 * 2 + largest) / (largest * 2);
        (magnitude * sum.signum()) as i8
    })
}

/// The vector of a text.
pub fn embed(text: &str) -> Vector {
    let mut counts: HashMap<u64, (u32, i32)> = HashMap::new();
    tokenize::ws(text.as_bytes(), &mut Vec::new(), |token| {
        let Ok(word) = std::str::from_utf8(token) else {
            return;
        };
        features(word, |feature, text, weight| {
            counts.entry(hash(feature, text)).or_insert((0, weight)).0 += 1;
        });
    });
    let mut sums = [0; DIMENSION];
    for (hash, (times, weight)) in counts {
        add(&mut sums, hash, i64::from(weight * damped(times)));
    }
    quantize(&sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nearest::similarity;
    use proptest::prelude::*;

    /// The obvious reading: a list of every word, then of every feature, counted by comparing.
    fn naive(text: &str) -> Vector {
        let folded = crate::fold::fold(text).into_owned();
        let is_word = |one: &char| crate::unicode::kind(*one as u32) != crate::unicode::Kind::Separator;
        let mut listed: Vec<(u8, String, i64)> = Vec::new();
        for word in folded.split(|one| !is_word(&one)).filter(|word| !word.is_empty()) {
            let all: Vec<char> = word.chars().collect();
            if all.iter().any(|&one| is_cjk(one)) {
                let pairs: Vec<String> = all.windows(2).map(|pair| pair.iter().collect()).collect();
                let pairs = if all.len() == 1 {
                    vec![word.to_owned()]
                } else {
                    pairs
                };
                listed.extend(pairs.into_iter().map(|pair| (3, pair, 16)));
            } else {
                let weight = [3, 4, 9, 14].get(all.len() - 1).copied().unwrap_or(20);
                listed.push((1, word.to_owned(), weight));
                if all.len() > 5 {
                    listed.push((2, all[..5].iter().collect(), 12));
                }
            }
        }
        let mut sums = [0_i64; DIMENSION];
        for (at, one) in listed.iter().enumerate() {
            if listed[..at].contains(one) {
                continue;
            }
            let times = listed.iter().filter(|other| *other == one).count();
            let weight = one.2 * (16.0 * (times as f64).sqrt()).floor() as i64;
            let mut bytes = vec![one.0];
            bytes.extend(one.1.as_bytes());
            let hash = SipHasher24::new().hash(&bytes).to_le_bytes();
            sums[usize::from(hash[0])] += if hash[1] & 1 == 0 { weight } else { -weight };
            sums[usize::from(hash[4])] += if hash[5] & 1 == 0 { weight } else { -weight };
        }
        let largest = sums.iter().map(|sum| sum.abs()).max().unwrap_or(0).max(1) as f64;
        sums.map(|sum| (sum as f64 * 127.0 / largest).round() as i8)
    }

    proptest! {
        #[test]
        fn agrees_with_the_obvious_reading(
            text in "([a-zA-Z]{1,9} ?|[é-ü]{1,3}|[一-七ぁ-お]{1,4}|[ΑΣİß]{1,7}|[ .\\n-]|\\PC){0,60}"
        ) {
            prop_assert_eq!(embed(&text), naive(&text));
        }
    }

    #[test]
    fn texts_that_share_words_are_nearer() {
        let near = |a: &str, b: &str| similarity(&embed(a), &embed(b));
        let lattice = "A lattice holds its struts together without a keystone";
        assert!(near(lattice, "lattices hold together by struts") > 0.3);
        assert!(near(lattice, "the price of bread rose in winter") < 0.2);
        assert!(near("格子は支柱で支えられる", "支柱が格子を支える") > 0.2);
        assert_eq!(near(lattice, " -- !"), 0.0);
        assert!((near(lattice, &lattice.to_uppercase()) - 1.0).abs() < 1e-12);
    }

    /// Vectors lie in files and in what clients compare: they must not change under this method's name.
    #[test]
    fn stays_as_it_is() {
        let vector = embed("Remove one strut: what falls? 格子");
        let digest = vector.iter().fold(0_u64, |sum, &one| {
            sum.wrapping_mul(1_099_511_628_211).wrapping_add(one as u8 as u64)
        });
        assert_eq!(digest, 1_495_634_009_956_365_756);
    }
}
