//! Similarity of docs for the model that scores them: cosines of their vectors.

use super::{Gathered, Leg};
use crate::cpu::products::{Rows, dot};
use crate::cpu::simd::Path;
use crate::embed::sight::Sight;
use crate::embed::static_model;

/// Vectors of some docs.
pub(crate) struct Alike {
    path: Path,
    vectors: Rows,
    /// Their squared lengths; 0 if the model knows no word of a text.
    squares: Vec<f64>,
}

impl Gathered {
    /// Retains vectors for [`Gathered::alike`]. Call it before the first doc.
    pub(crate) fn keep_vectors(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// The vectors of docs by index, once nothing is missing.
    pub(crate) fn alike(&self, docs: impl Iterator<Item = usize>) -> Alike {
        let dimension = self.model().dimension;
        let (mut numbers, mut squares) = (Vec::new(), Vec::new());
        match &self.leg {
            Leg::Static(_, _, scores) => {
                let kept = self.kept.as_deref().unwrap_or_default();
                for doc in docs {
                    let vector = &kept[doc];
                    // Whole numbers become floats once, not for each doc that they are compared with.
                    numbers.extend(vector.iter().map(|&number| number as f64));
                    squares.push(match scores[doc].1 {
                        Sight::Blind => 0.0,
                        Sight::Dim | Sight::Clear => static_model::dot(vector, vector),
                    });
                }
            }
            Leg::Computed(found) => {
                for doc in docs {
                    // Index 0 is the query.
                    let vector = &found.vectors[found.places[doc + 1] * dimension..][..dimension];
                    numbers.extend(vector.iter().map(|&number| f64::from(number)));
                    squares.push(dot(vector, vector));
                }
            }
        }
        Alike {
            path: Path::best(),
            vectors: Rows::new(numbers, dimension),
            squares,
        }
    }
}

impl Alike {
    /// Raises each of `likenesses` to the cosine of `one` and the vector at its index in `others`, if that is
    /// greater. `products` is a buffer.
    pub(crate) fn raise(&self, one: u32, others: &[u32], likenesses: &mut [f64], products: &mut Vec<f64>) {
        products.resize(others.len(), 0.0);
        self.vectors.products(self.path, one, others, products);
        let found = others.iter().zip(products);
        for (likeness, (&other, product)) in likenesses.iter_mut().zip(found) {
            let length = (self.squares[one as usize] * self.squares[other as usize]).sqrt();
            if length > 0.0 {
                *likeness = likeness.max((*product / length).clamp(0.0, 1.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Model, Models};
    use super::*;
    use crate::embed::entity_map::EntityMap;
    use crate::embed::static_model::Scratch;
    use std::sync::Arc;

    /// Cosine of two of them, at least 0.
    fn likeness(alike: &Alike, one: u32, other: u32) -> f64 {
        let mut likeness = [0.0];
        alike.raise(one, &[other], &mut likeness, &mut Vec::new());
        likeness[0]
    }

    fn gather(models: &Arc<Models>, texts: &[&str]) -> Gathered {
        let (map, mut scratch) = (EntityMap::default(), Scratch::default());
        let mut gathered = Gathered::new(models, 0, map, "query", &mut scratch).expect("no map");
        gathered.keep_vectors();
        for text in texts {
            gathered.add(text, &mut scratch).expect("no map");
        }
        gathered
    }

    #[test]
    fn vectors_of_other_models_are_compared_by_their_cosine() {
        let kind = Kind::Computed {
            query_prefix: "query: ".to_owned(),
            document_prefix: String::new(),
        };
        let model = Model::new("m".to_owned(), [7; 32], 2, kind).expect("a model");
        let models = Arc::new(Models::new(vec![model], Some(0), None));
        let mut gathered = gather(&models, &["east", "north", "east", "west", "nothing", "far east"]);
        let vectors = [9.0, 9.0, 1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 0.0, 0.0, 3.0, 4.0];
        assert!(gathered.complete(&vectors, &[false; 6]));
        let alike = gathered.alike([5, 0, 1, 2, 3, 4].into_iter());
        let of_first: Vec<f64> = (0..6).map(|other| likeness(&alike, 0, other)).collect();
        assert_eq!(of_first, [1.0, 0.6, 0.8, 0.6, 0.0, 0.0]);
        assert_eq!((likeness(&alike, 1, 3), likeness(&alike, 1, 2)), (1.0, 0.0));
    }

    #[test]
    fn a_static_model_s_are_those_of_its_scores_and_words_that_it_does_not_know_are_like_nothing() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/static-256");
        let model = Model::open_static("m".to_owned(), [0; 32], folder.as_ref()).expect("the model");
        let models = Arc::new(Models::new(vec![model], Some(0), None));
        let texts = ["a red fox", "the fox is red", "\u{756A}\u{8304}", "query", ""];
        let gathered = gather(&models, &texts);
        let (scores, _) = gathered.scores();
        let alike = gathered.alike(0..texts.len());
        // The query's own text is also a doc.
        assert_eq!(likeness(&alike, 3, 0), scores[0].max(0.0));
        assert!(likeness(&alike, 0, 1) > 0.8);
        assert_eq!((likeness(&alike, 2, 0), likeness(&alike, 2, 2)), (0.0, 0.0));
        assert_eq!(likeness(&alike, 4, 4), 0.0);
    }
}
