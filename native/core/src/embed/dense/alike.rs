//! Similarity of docs for the model that scores them: cosines of their vectors.

use super::{Gathered, Leg, dot};
use crate::embed::sight::Sight;
use crate::embed::static_model::{self, Sums};

enum Vectors<'a> {
    Static(Vec<&'a Sums>),
    Computed(Vec<&'a [f32]>),
}

/// Vectors of some docs.
pub(crate) struct Alike<'a> {
    vectors: Vectors<'a>,
    /// Their squared lengths; 0 if the model knows no word of a text.
    squares: Vec<f64>,
}

impl Gathered {
    /// Retains vectors for [`Gathered::alike`]. Call it before the first doc.
    pub(crate) fn keep_vectors(&mut self) {
        self.kept = Some(Vec::new());
    }

    /// The vectors of docs by index, once nothing is missing.
    pub(crate) fn alike(&self, docs: impl Iterator<Item = usize>) -> Alike<'_> {
        match &self.leg {
            Leg::Static(_, _, scores) => {
                let kept = self.kept.as_deref().unwrap_or_default();
                let known = docs.map(|doc| (&kept[doc], scores[doc].1));
                let (vectors, squares) = known
                    .map(|(vector, sight)| match sight {
                        Sight::Blind => (vector, 0.0),
                        Sight::Dim | Sight::Clear => (vector, static_model::dot(vector, vector)),
                    })
                    .unzip();
                Alike {
                    vectors: Vectors::Static(vectors),
                    squares,
                }
            }
            Leg::Computed(found) => {
                let dimension = self.model().dimension;
                // Index 0 is the query.
                let vectors: Vec<&[f32]> = docs
                    .map(|doc| &found.vectors[found.places[doc + 1] * dimension..][..dimension])
                    .collect();
                let squares = vectors.iter().map(|vector| dot(vector, vector)).collect();
                Alike {
                    vectors: Vectors::Computed(vectors),
                    squares,
                }
            }
        }
    }
}

impl Alike<'_> {
    /// Cosine of two of them, at least 0.
    pub(crate) fn likeness(&self, one: usize, other: usize) -> f64 {
        let length = (self.squares[one] * self.squares[other]).sqrt();
        if length == 0.0 {
            return 0.0;
        }
        let product = match &self.vectors {
            Vectors::Static(vectors) => static_model::dot(vectors[one], vectors[other]),
            Vectors::Computed(vectors) => dot(vectors[one], vectors[other]),
        };
        (product / length).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Model, Models};
    use super::*;
    use crate::embed::entity_map::EntityMap;
    use crate::embed::static_model::Scratch;
    use std::sync::Arc;

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
        let of_first: Vec<f64> = (0..6).map(|other| alike.likeness(0, other)).collect();
        assert_eq!(of_first, [1.0, 0.6, 0.8, 0.6, 0.0, 0.0]);
        assert_eq!((alike.likeness(1, 3), alike.likeness(1, 2)), (1.0, 0.0));
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
        assert_eq!(alike.likeness(3, 0), scores[0].max(0.0));
        assert!(alike.likeness(0, 1) > 0.8);
        assert_eq!((alike.likeness(2, 0), alike.likeness(2, 2)), (0.0, 0.0));
        assert_eq!(alike.likeness(4, 4), 0.0);
    }
}
