//! Dense scores that are computed here: cosines of the query's vector with the texts'. A static model's
//! vectors are computed at once; other models' are looked up, and the caller provides missing ones.

mod alike;

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::embeddings::{self, Embeddings, Key};
use super::entity_map::{EntityMap, Refused};
use super::sight::{self, Poor, Sight};
use super::static_model::{self, Scratch, StaticModel, Sums};
use crate::cpu::products::dot;
pub(crate) use alike::Alike;

/// Most bytes of a model's id.
pub const MODEL_ID_BYTES: usize = 200;

/// Source of a model's vectors.
pub enum Kind {
    /// Computed here.
    Static(StaticModel),
    /// Computed elsewhere, from texts with prefixes, as the model was trained.
    Computed {
        /// Prefix of a query.
        query_prefix: String,
        /// Prefix of a doc's text.
        document_prefix: String,
    },
}

/// An installed model.
pub struct Model {
    id: String,
    hub_name: Option<String>,
    digest: [u8; 32],
    pub(crate) dimension: usize,
    kind: Kind,
}

impl Model {
    /// A model with this id, SHA-256 and dimension.
    ///
    /// # Errors
    /// An id that is not made of ASCII letters, digits, `.`, `_`, `-` and `/`; a dimension of 0.
    pub fn new(id: String, digest: [u8; 32], dimension: usize, kind: Kind) -> io::Result<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
        let fits = (1..=MODEL_ID_BYTES).contains(&id.len());
        if !fits || !id.bytes().all(plain) || dimension == 0 {
            let text = format!("the model {id:?} of dimension {dimension} cannot be used");
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        Ok(Self {
            id,
            hub_name: None,
            digest,
            dimension,
            kind,
        })
    }

    /// Sets the hub's name for the model, `owner/name`, which requests may use instead of its id.
    #[must_use]
    pub fn known_on_hub_as(mut self, name: Option<String>) -> Self {
        self.hub_name = name;
        self
    }

    /// Rank of a match with a request's name: 0 the id, 1 the id in another letter case, 2 the hub's name.
    fn fit(&self, name: &str) -> Option<u8> {
        let hub_name = || self.hub_name.as_deref();
        match name {
            _ if self.id == name => Some(0),
            _ if self.id.eq_ignore_ascii_case(name) => Some(1),
            _ if hub_name().is_some_and(|hub| hub.eq_ignore_ascii_case(name)) => Some(2),
            _ => None,
        }
    }

    /// Opens a static model's folder. Fails if its files do not fit each other.
    pub fn open_static(id: String, digest: [u8; 32], folder: &Path) -> io::Result<Self> {
        let kind = Kind::Static(StaticModel::open(folder)?);
        Self::new(id, digest, static_model::DIMENSION, kind)
    }

    /// Its id; it needs no escape in JSON.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The static model, if it is one.
    pub fn as_static(&self) -> Option<&StaticModel> {
        match &self.kind {
            Kind::Static(model) => Some(model),
            Kind::Computed { .. } => None,
        }
    }
}

/// The models of one process, and the cache of vectors that are computed elsewhere.
pub struct Models {
    models: Vec<Model>,
    default: Option<usize>,
    cache: Option<Embeddings>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Models {
    /// Models with different ids; `default`: the one for requests that name none.
    pub fn new(models: Vec<Model>, default: Option<usize>, cache: Option<Embeddings>) -> Self {
        Self {
            models,
            default,
            cache,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// The model with this id or hub name, in any letter case; `None`: the default one.
    pub fn find(&self, name: Option<&str>) -> Option<usize> {
        let Some(name) = name else { return self.default };
        let fits = |(place, model): (usize, &Model)| Some((model.fit(name)?, place));
        self.models
            .iter()
            .enumerate()
            .filter_map(fits)
            .min()
            .map(|(_, place)| place)
    }

    /// A model by index.
    pub fn get(&self, model: usize) -> Option<&Model> {
        self.models.get(model)
    }

    /// Number of texts found in the cache, and number of texts not found.
    pub fn lookups(&self) -> (u64, u64) {
        (self.hits.load(Relaxed), self.misses.load(Relaxed))
    }
}

/// A text without a known vector.
#[derive(Debug)]
struct Missing {
    /// Its index among the distinct texts.
    at: usize,
    text: String,
}

/// Vectors of the distinct texts of one request.
#[derive(Default)]
struct Found {
    /// For the query and each doc, the index of its text.
    places: Vec<usize>,
    known: HashMap<Key, usize>,
    keys: Vec<Key>,
    /// For each text, true if the model read only its first part.
    cut: Vec<bool>,
    /// Concatenated; zeros for missing ones.
    vectors: Vec<f32>,
    missing: Vec<Missing>,
}

enum Leg {
    /// The query's vector, and the scores so far.
    Static(Box<Sums>, Sight, Vec<(f64, Sight)>),
    Computed(Found),
}

/// The dense side of one request: its query, then its docs in order.
pub struct Gathered {
    models: Arc<Models>,
    model: usize,
    map: EntityMap,
    leg: Leg,
    /// The docs' vectors by a static model, if requested.
    kept: Option<Vec<Sums>>,
    truncated: bool,
}

impl Gathered {
    /// Starts with the query. `model` is an index into `models`.
    ///
    /// # Errors
    /// A map that cannot be applied to the text.
    pub fn new(
        models: &Arc<Models>,
        model: usize,
        mut map: EntityMap,
        query: &str,
        scratch: &mut Scratch,
    ) -> Result<Self, Refused> {
        let query = map.apply(query)?;
        let leg = match &models.models[model].kind {
            Kind::Static(model) => {
                let (query, sight) = model.read(&query, scratch);
                Leg::Static(Box::new(query), sight, Vec::new())
            }
            Kind::Computed { .. } => Leg::Computed(Found::default()),
        };
        let mut gathered = Self {
            models: models.clone(),
            model,
            map,
            leg,
            kept: None,
            truncated: false,
        };
        if let Kind::Computed { query_prefix, .. } = &models.models[model].kind {
            gathered.look_up(query_prefix, &query);
        }
        Ok(gathered)
    }

    /// Adds a doc's text.
    ///
    /// # Errors
    /// As for the query.
    pub fn add(&mut self, text: &str, scratch: &mut Scratch) -> Result<(), Refused> {
        let models = self.models.clone();
        let text = self.map.apply(text)?;
        match (&models.models[self.model].kind, &mut self.leg) {
            (Kind::Static(model), Leg::Static(query, _, scores)) => {
                let (vector, sight) = model.read(&text, scratch);
                scores.push((static_model::cosine(query, &vector), sight));
                self.kept.iter_mut().for_each(|kept| kept.push(vector));
            }
            (Kind::Computed { document_prefix, .. }, _) => self.look_up(document_prefix, &text),
            (Kind::Static(_), Leg::Computed(_)) => unreachable!("the leg is made by the model's kind"),
        }
        Ok(())
    }

    /// Looks up the vector of a text.
    fn look_up(&mut self, prefix: &str, text: &str) {
        let (models, Leg::Computed(found)) = (&self.models, &mut self.leg) else {
            return;
        };
        let Model {
            digest, dimension, ..
        } = &models.models[self.model];
        let key = embeddings::key(digest, &[prefix, text]);
        let next = found.keys.len();
        let at = *found.known.entry(key).or_insert(next);
        found.places.push(at);
        if at < next {
            return;
        }
        found.keys.push(key);
        found.cut.push(false);
        found.vectors.resize((next + 1) * dimension, 0.0);
        let vector = &mut found.vectors[next * dimension..];
        match models.cache.as_ref().and_then(|cache| cache.get(&key, vector)) {
            Some(truncated) => {
                models.hits.fetch_add(1, Relaxed);
                found.cut[next] = truncated;
                self.truncated |= truncated;
            }
            None => {
                models.misses.fetch_add(1, Relaxed);
                vector.fill(0.0);
                let text = format!("{prefix}{text}");
                found.missing.push(Missing { at, text });
            }
        }
    }

    /// True if no vector is missing.
    pub fn is_whole(&self) -> bool {
        self.lacking().is_empty()
    }

    /// The texts without vectors, all different, with the model's prefix.
    pub fn missing(&self) -> impl ExactSizeIterator<Item = &str> {
        self.lacking().iter().map(|one| one.text.as_str())
    }

    /// The text at an index of [`Gathered::missing`].
    pub fn missing_at(&self, at: usize) -> Option<&str> {
        self.lacking().get(at).map(|one| one.text.as_str())
    }

    fn lacking(&self) -> &[Missing] {
        match &self.leg {
            Leg::Static(..) => &[],
            Leg::Computed(found) => &found.missing,
        }
    }

    /// Adds all missing vectors, concatenated in the order of [`Gathered::missing`], and caches them.
    /// `truncated`: true for each text of which the model read only the first part. False, without any
    /// effect, if their number is wrong, or one holds a number that is not finite.
    pub fn complete(&mut self, vectors: &[f32], truncated: &[bool]) -> bool {
        let count = self.missing().len();
        let places: Vec<usize> = (0..count).collect();
        truncated.len() == count && self.keep(&places, vectors, truncated)
    }

    /// Adds some of the missing vectors, as [`Gathered::complete`] adds all; the others stay missing.
    /// `places`: their indexes in [`Gathered::missing`], ascending. False, without any effect, if an index is
    /// invalid or not ascending, or if the vectors do not fit.
    pub fn keep(&mut self, places: &[usize], vectors: &[f32], truncated: &[bool]) -> bool {
        let Leg::Computed(found) = &mut self.leg else {
            return places.is_empty() && vectors.is_empty();
        };
        let dimension = self.models.models[self.model].dimension;
        let ascending = places.is_sorted_by(|one, next| one < next);
        let there = places.last().is_none_or(|&last| last < found.missing.len());
        let fit = vectors.len() == places.len() * dimension && truncated.len() == places.len();
        if !ascending || !there || !fit || !vectors.iter().all(|number| number.is_finite()) {
            return false;
        }
        for ((&place, vector), &cut) in places.iter().zip(vectors.chunks(dimension)).zip(truncated) {
            let at = found.missing[place].at;
            found.vectors[at * dimension..][..dimension].copy_from_slice(vector);
            found.cut[at] = cut;
            self.truncated |= cut;
            if let Some(cache) = &self.models.cache {
                cache.put(&found.keys[at], vector, cut);
            }
        }
        let mut place = 0..;
        let taken = |place| places.binary_search(&place).is_ok();
        found.missing.retain(|_| !place.next().is_some_and(taken));
        true
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.models.models[self.model]
    }

    /// True if the model read only the first part of a text.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// The first doc of which the model read only the first part, and the number of all such docs.
    pub fn truncated_docs(&self) -> Option<(usize, usize)> {
        let (true, Leg::Computed(found)) = (self.truncated, &self.leg) else {
            return None;
        };
        let (_, docs) = found.places.split_first()?;
        let is_cut = |&(_, &at): &(usize, &usize)| found.cut[at];
        let mut cut = docs.iter().enumerate().filter(is_cut);
        let (first, _) = cut.next()?;
        Some((first, 1 + cut.count()))
    }

    /// The docs' scores in order, once nothing is missing, and which texts the model knows poorly. A doc
    /// without any known token gets the least score of the others.
    pub fn scores(&self) -> (Vec<f64>, Poor) {
        let (query, (mut scores, sights)) = match &self.leg {
            Leg::Static(_, query, scores) => (*query, scores.iter().copied().unzip()),
            Leg::Computed(found) => self.computed(found),
        };
        sight::fill_blind(&mut scores, &sights);
        let poor = Poor {
            query: query != Sight::Clear,
            docs: sights.iter().any(|&sight| sight != Sight::Clear),
        };
        (scores, poor)
    }

    /// The query's sight, and each doc's score and sight, from their vectors.
    fn computed(&self, found: &Found) -> (Sight, (Vec<f64>, Vec<Sight>)) {
        let dimension = self.models.models[self.model].dimension;
        let vector = |&at: &usize| &found.vectors[at * dimension..][..dimension];
        let Some((query, docs)) = found.places.split_first() else {
            return Default::default();
        };
        let query = vector(query);
        let square = dot(query, query);
        let scored = docs.iter().map(|doc| {
            let doc = vector(doc);
            let of_doc = dot(doc, doc);
            (cosine(query, square, doc, of_doc), Sight::of_square(of_doc))
        });
        (Sight::of_square(square), scored.unzip())
    }
}

/// Cosine of the angle between two vectors with these squared lengths; 0 if one of them is 0. The order of
/// the sums is fixed, so that the result is the same on every machine.
fn cosine(a: &[f32], square_a: f64, b: &[f32], square_b: f64) -> f64 {
    let length = (square_a * square_b).sqrt();
    if length == 0.0 {
        0.0
    } else {
        (dot(a, b) / length).clamp(-1.0, 1.0) + 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const DIMENSION: usize = 12;

    fn computed(id: &str) -> Model {
        let kind = Kind::Computed {
            query_prefix: "query: ".to_owned(),
            document_prefix: String::new(),
        };
        Model::new(id.to_owned(), [7; 32], DIMENSION, kind).expect("a model")
    }

    /// A vector for each text; all different.
    fn vectors<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<f32> {
        let numbers = |text: &str| {
            let sum: u32 = text.bytes().map(u32::from).sum();
            (0..DIMENSION).map(move |at| ((sum + at as u32 * 31) % 17) as f32 - 8.0)
        };
        texts.flat_map(numbers).collect()
    }

    fn gather(models: &Arc<Models>, query: &str, texts: &[&str]) -> Gathered {
        let (map, mut scratch) = (EntityMap::default(), Scratch::default());
        let mut gathered = Gathered::new(models, 0, map, query, &mut scratch).expect("no map");
        for text in texts {
            gathered.add(text, &mut scratch).expect("no map");
        }
        gathered
    }

    fn cache(name: &str) -> (PathBuf, Embeddings) {
        let path = std::env::temp_dir().join(format!("fusegate-dense-{name}-{}", std::process::id()));
        Embeddings::prepare(&path, 1 << 16, DIMENSION).expect("a file");
        let opened = Embeddings::open(&path).expect("the file");
        (path, opened)
    }

    #[test]
    fn a_model_is_found_by_its_id_then_by_the_hub_s_name_in_any_case() {
        let on_hub = |id: &str, name: &str| computed(id).known_on_hub_as(Some(name.to_owned()));
        let list = vec![
            on_hub("a", "Acme/B"),
            computed("b"),
            computed("B"),
            on_hub("c", "acme/c-1.5"),
        ];
        let models = Models::new(list, Some(3), None);
        let names = [
            Some("a"),
            Some("A"),
            Some("b"),
            Some("B"),
            Some("acme/b"),
            Some("ACME/C-1.5"),
            None,
        ];
        let places = [Some(0), Some(0), Some(1), Some(2), Some(0), Some(3), Some(3)];
        assert_eq!(names.map(|name| models.find(name)), places);
        let unknown = ["", "d", "acme", "acme/a", "acme/c-1.5 ", "other/b"];
        assert!(unknown.iter().all(|name| models.find(Some(name)).is_none()));
    }

    #[test]
    fn what_is_missing_is_asked_for_once_and_looked_up_from_then_on() {
        let (path, opened) = cache("lookups");
        let models = Arc::new(Models::new(vec![computed("m")], Some(0), Some(opened)));
        let mut first = gather(&models, "a", &["b", "c", "b", "query: a"]);
        let missing: Vec<String> = first.missing().map(str::to_owned).collect();
        assert_eq!(missing, ["query: a", "b", "c"]);
        let brought = vectors(missing.iter().map(String::as_str));
        assert!(!first.complete(&brought[1..], &[false; 3]));
        assert!(!first.complete(&brought, &[false; 2]));
        let mut broken = brought.clone();
        broken[3] = f32::NAN;
        assert!(!first.complete(&broken, &[false; 3]));
        assert!(first.complete(&brought, &[false, true, false]));
        assert!(first.truncated() && first.missing().next().is_none());
        let (scores, _) = first.scores();
        assert_eq!((scores[0], scores[3]), (scores[2], 1.0));
        let expected = |at: usize| {
            let (a, b) = (&brought[..DIMENSION], &brought[at * DIMENSION..][..DIMENSION]);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        assert!((scores[0] - expected(1)).abs() < 1e-12 && (scores[1] - expected(2)).abs() < 1e-12);
        assert_eq!(models.lookups(), (0, 3));
        let again = gather(&models, "a", &["c", "b"]);
        assert!(again.missing().next().is_none() && again.truncated());
        assert_eq!(again.truncated_docs(), Some((1, 1)));
        assert_eq!(again.scores().0, [scores[1], scores[0]]);
        assert!(!gather(&models, "a", &["c"]).truncated());
        assert_eq!(gather(&models, "b", &["c"]).truncated_docs(), None);
        assert_eq!(models.lookups(), (6, 4));
        std::fs::remove_file(path).expect("the file");
    }

    #[test]
    fn some_of_what_is_missing_is_kept_for_another_try() {
        let (path, opened) = cache("some");
        let models = Arc::new(Models::new(vec![computed("m")], None, Some(opened)));
        let texts = ["b", "c", "d"];
        let mut late = gather(&models, "a", &texts);
        let brought = vectors(late.missing());
        let vector = |at: usize| &brought[at * DIMENSION..][..DIMENSION];
        let some = [vector(0), vector(2)].concat();
        let cut = [false, true];
        for places in [&[2, 0][..], &[0, 0], &[0, 4], &[0], &[0, 1, 2]] {
            assert!(!late.keep(places, &some, &cut), "{places:?}");
        }
        assert!(!late.keep(&[0, 2], &some[1..], &cut) && !late.keep(&[0, 2], &some, &cut[1..]));
        let mut broken = some.clone();
        broken[DIMENSION] = f32::INFINITY;
        assert!(!late.keep(&[0, 2], &broken, &cut));
        assert_eq!((late.missing().count(), models.lookups()), (4, (0, 4)));
        assert!(late.keep(&[0, 2], &some, &cut) && late.truncated());
        assert_eq!(late.missing().collect::<Vec<_>>(), ["b", "d"]);
        assert!(late.keep(&[], &[], &[]));
        let mut again = gather(&models, "a", &texts);
        assert_eq!(again.missing().collect::<Vec<_>>(), ["b", "d"]);
        let rest = [vector(1), vector(3)].concat();
        assert!(again.complete(&rest, &[false; 2]) && late.complete(&rest, &[false; 2]));
        let mut whole = gather(
            &Arc::new(Models::new(vec![computed("m")], None, None)),
            "a",
            &texts,
        );
        assert!(whole.complete(&brought, &[false; 4]));
        assert_eq!(again.scores(), whole.scores());
        assert_eq!(late.scores(), whole.scores());
        std::fs::remove_file(path).expect("the file");
    }

    #[test]
    fn without_a_cache_everything_is_missing_each_time() {
        let models = Arc::new(Models::new(vec![computed("m")], None, None));
        for _ in 0..2 {
            let mut gathered = gather(&models, "a", &["b"]);
            let brought = vectors(gathered.missing());
            assert!(gathered.complete(&brought, &[false; 2]));
            assert_eq!(gathered.scores().0.len(), 1);
        }
        assert_eq!((models.lookups(), models.find(None)), ((0, 4), None));
        assert_eq!(models.find(Some("m")), Some(0));
        assert_eq!(models.find(Some("n")), None);
    }

    #[test]
    fn zero_vectors_score_0() {
        let models = Arc::new(Models::new(vec![computed("m")], None, None));
        let mut gathered = gather(&models, "a", &["b"]);
        assert!(gathered.complete(&[0.0; 2 * DIMENSION], &[false; 2]));
        let poor = Poor {
            query: true,
            docs: true,
        };
        assert_eq!(gathered.scores(), (vec![0.0], poor));
    }

    #[test]
    fn a_vector_s_length_tells_how_much_of_its_text_is_known() {
        let unit = |first: f32, second: f32| {
            let mut vector = [0.0; DIMENSION];
            (vector[0], vector[1]) = (first, second);
            vector
        };
        let asked = |lengths: [f32; 4]| {
            let models = Arc::new(Models::new(vec![computed("m")], None, None));
            let mut gathered = gather(&models, "a", &["b", "c", "d"]);
            let texts = [unit(1.0, 0.0), unit(0.6, 0.8), unit(-0.6, 0.8), unit(0.8, 0.6)];
            let vectors = texts.iter().zip(lengths);
            let scaled: Vec<f32> = vectors.flat_map(|(text, by)| text.map(|one| one * by)).collect();
            assert!(gathered.complete(&scaled, &[false; 4]));
            gathered.scores()
        };
        let poor = |query, docs| Poor { query, docs };
        let (clear, none) = asked([1.0; 4]);
        assert_eq!(none, Poor::default());
        assert_eq!(asked([0.5, 1.0, 0.5, 1.0]), (clear.clone(), poor(true, true)));
        let [first, least, _] = clear[..] else {
            panic!("three scores");
        };
        assert_eq!(
            asked([1.0, 1.0, 1.0, 0.0]),
            (vec![first, least, least], poor(false, true))
        );
        assert_eq!(asked([0.0, 1.0, 1.0, 1.0]), (vec![0.0; 3], poor(true, false)));
    }

    #[test]
    fn ids_that_would_need_an_escape_are_refused() {
        let made = |id: &str| {
            let kind = computed("m").kind;
            Model::new(id.to_owned(), [0; 32], 1, kind).is_ok()
        };
        assert!(made("bge-base-en-v1.5") && made("a/b_c"));
        assert!(!made("") && !made("a\"b") && !made("a b") && !made(&"a".repeat(MODEL_ID_BYTES + 1)));
    }
}
