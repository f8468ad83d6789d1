//! The share of a text that an embedding model can read. A vocabulary lacks most words of a language that its
//! model was not trained on. All of these become one unknown token, or none, so that two such texts look
//! alike whatever they say.
//!
//! The length of a computed vector encodes the share: 1, 1/2 or 0. A cosine ignores it. So neither the file
//! of embeddings nor the store needs another field, and their old entries of ASCII texts stay valid.

/// Readable share of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// At least half of its tokens are known, or it has none.
    #[default]
    Clear,
    /// More than half of its tokens are unknown.
    Dim,
    /// It has words, and none is known.
    Blind,
}

impl Sight {
    /// From the numbers of a text's known tokens, without punctuation, and of its unknown ones.
    pub fn of(known: usize, unknown: usize) -> Self {
        match (known, unknown) {
            (0, 1..) => Self::Blind,
            _ if unknown > known => Self::Dim,
            _ => Self::Clear,
        }
    }

    /// Length of a computed vector.
    pub fn length(self) -> f32 {
        match self {
            Self::Clear => 1.0,
            Self::Dim => 0.5,
            Self::Blind => 0.0,
        }
    }

    /// From a computed vector's squared length.
    pub fn of_square(square: f64) -> Self {
        match square {
            0.0 => Self::Blind,
            _ if square < 0.5 => Self::Dim,
            _ => Self::Clear,
        }
    }
}

/// Which of the query and the docs' texts the model knows poorly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Poor {
    /// More than half of the query's tokens are unknown, or all.
    pub query: bool,
    /// The same for at least one of the texts.
    pub docs: bool,
}

/// Gives docs without a score of their own the least score of the others; 0 if no doc has one.
pub fn fill_blind(scores: &mut [f64], sights: &[Sight]) {
    let own = scores
        .iter()
        .zip(sights)
        .filter(|(_, sight)| **sight != Sight::Blind);
    let least = own.map(|(&score, _)| score).reduce(f64::min).unwrap_or(0.0);
    for (score, sight) in scores.iter_mut().zip(sights) {
        if *sight == Sight::Blind {
            *score = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_by_its_known_tokens() {
        let of = |known, unknown| Sight::of(known, unknown);
        assert_eq!([of(0, 0), of(1, 0), of(1, 1), of(3, 2)], [Sight::Clear; 4]);
        assert_eq!([of(1, 2), of(2, 3), of(1, 900)], [Sight::Dim; 3]);
        assert_eq!([of(0, 1), of(0, 900)], [Sight::Blind; 2]);
    }

    #[test]
    fn a_vector_s_length_tells_it() {
        for sight in [Sight::Clear, Sight::Dim, Sight::Blind] {
            // Rounding of a scaled vector's numbers changes its length by less than this.
            for rounding in [0.999_99, 1.0, 1.000_01] {
                let square = f64::from(sight.length()).powi(2) * rounding;
                assert_eq!(Sight::of_square(square), sight);
            }
        }
    }

    #[test]
    fn what_has_no_score_counts_as_the_least_of_the_others() {
        let filled = |scores: &[f64], sights: &[Sight]| {
            let mut scores = scores.to_vec();
            fill_blind(&mut scores, sights);
            scores
        };
        let (clear, dim, blind) = (Sight::Clear, Sight::Dim, Sight::Blind);
        assert_eq!(
            filled(&[0.5, 0.0, -0.25, 0.0], &[clear, blind, dim, blind]),
            [0.5, -0.25, -0.25, -0.25]
        );
        assert_eq!(filled(&[0.0, 0.5], &[blind, clear]), [0.5, 0.5]);
        assert_eq!(filled(&[0.0, 0.0], &[blind, blind]), [0.0, 0.0]);
        assert!(filled(&[], &[]).is_empty());
    }
}
