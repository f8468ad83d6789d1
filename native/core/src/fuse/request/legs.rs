//! `legs` and `boosts`: the lists that are fused, and docs' numbers that raise or lower the fused scores.

use super::named::{MOST_NUMBER, Named};
use super::unknown::{Notes, Place, known_members};
use super::values::{NOWHERE, number, word};
use crate::fuse::bm25::logarithm;
use crate::json::{self, Scanner, Unfit, unescape};

/// Most legs, and most boosts, of a request; the contract has all these bounds, too.
pub const MOST_LEGS: usize = 16;
const MOST_BOOSTS: usize = 16;
/// Most characters of their names.
const MOST_CHARACTERS: usize = 64;
/// Least scale of a boost, and the bounds of its decay.
const LEAST_SCALE: f64 = 1e-9;
const DECAYS: (f64, f64) = (0.001, 0.999);

/// Ways to make a list's scores comparable with those of others.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Normalize {
    /// Divided by the largest absolute value.
    #[default]
    Max,
    /// The least is 0, the greatest 1.
    MinMax,
    /// Standard deviations from the mean.
    ZScore,
    /// ln(1 + score), then as `Max`.
    Log1p,
    /// Share of the docs that rank no higher.
    Rank,
    /// As they are.
    None,
}

/// The score of a doc that has none in a list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// 0.
    #[default]
    Zero,
    /// The least that was sent.
    Min,
}

const NORMALIZE: [(&[u8], Normalize); 6] = [
    (b"max", Normalize::Max),
    (b"minmax", Normalize::MinMax),
    (b"zscore", Normalize::ZScore),
    (b"log1p", Normalize::Log1p),
    (b"rank", Normalize::Rank),
    (b"none", Normalize::None),
];
const MISSING: [(&[u8], Missing); 2] = [(b"zero", Missing::Zero), (b"min", Missing::Min)];

/// Source of a list's scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// BM25.
    Bm25,
    /// `dense_score`.
    Dense,
    /// `scores`, by the name's index.
    Sent(u32),
}

/// One of the lists that are fused.
#[derive(Debug)]
pub struct Leg {
    /// Its name.
    pub name: Vec<u8>,
    /// Source of its scores.
    pub source: Source,
    /// Share of the sum of all weights.
    pub weight: f64,
    /// How its scores are made comparable.
    pub normalize: Normalize,
    /// The score of a doc that has none.
    pub missing: Missing,
}

/// Shape of a boost over the distance from its origin.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Decay {
    /// e^(ln(decay) distance / scale)
    #[default]
    Exp,
    /// e^(ln(decay) (distance / scale)^2)
    Gauss,
    /// 1 - (1 - decay) distance / scale, at least 0.
    Linear,
}

const DECAY: [(&[u8], Decay); 3] = [
    (b"exp", Decay::Exp),
    (b"gauss", Decay::Gauss),
    (b"linear", Decay::Linear),
];

/// Raises or lowers docs' scores by a number of theirs.
#[derive(Debug)]
pub struct Boost {
    /// Its name in `values`.
    pub name: Vec<u8>,
    /// Index of that name.
    pub value: u32,
    /// The best value.
    pub origin: f64,
    /// The distance beyond `offset` at which the factor is `decay`.
    pub scale: f64,
    /// The distance up to which the factor is 1.
    pub offset: f64,
    /// The factor at `scale`.
    pub decay: f64,
    /// ln(decay).
    pub logarithm: f64,
    /// The shape.
    pub function: Decay,
    /// Share of the score that it decides.
    pub weight: f64,
}

/// Reads a name that a caller chose.
fn name_of(scanner: &Scanner, span: json::Span) -> Result<Vec<u8>, Unfit> {
    let bytes = scanner.bytes(span);
    if json::characters(bytes) > MOST_CHARACTERS as u64 || bytes.is_empty() {
        return Err(Unfit);
    }
    let mut name = Vec::new();
    unescape(bytes, &mut name);
    Ok(name)
}

/// Reads `legs`. [`look_up`] finds their scores once the docs are read.
pub(super) fn read_legs(scanner: &mut Scanner, notes: &Notes) -> Result<Vec<Leg>, Unfit> {
    const NAMES: [&[u8]; 3] = [b"weight", b"normalize", b"missing"];
    notes.borrow_mut().forget(Place::Legs);
    let (mut legs, mut has_many): (Vec<Leg>, bool) = (Vec::new(), false);
    scanner.values(2, |scanner, span| {
        let (mut weight, mut normalize, mut missing) = (1.0, Normalize::Max, Missing::Zero);
        let name = name_of(scanner, span);
        let known = |leg: &Leg| name.as_ref().is_ok_and(|name| *name == leg.name);
        let number = legs.iter().position(known).unwrap_or(legs.len());
        notes.borrow_mut().go_to_leg(number + 1);
        let met = known_members(scanner, (notes, Place::Legs), &NAMES, 3, |scanner, place| {
            match place {
                0 => weight = super::values::number(scanner, 0.0, f64::MAX)?,
                1 => normalize = word(scanner, &NORMALIZE)?,
                _ => missing = word(scanner, &MISSING)?,
            }
            Ok(())
        })?;
        let Ok(name) = name else {
            has_many = true;
            return Ok(());
        };
        let source = match &name[..] {
            b"bm25" => Source::Bm25,
            b"dense" => Source::Dense,
            _ => Source::Sent(u32::MAX),
        };
        // BM25 scores every doc, and `on_missing_dense` is for docs without a dense score.
        let misplaced = met & 0b100 != 0 && !matches!(source, Source::Sent(_));
        let leg = Leg {
            name,
            source,
            weight: if misplaced { f64::NAN } else { weight },
            normalize,
            missing,
        };
        match legs.get_mut(number) {
            Some(known) => *known = leg,
            None if number == MOST_LEGS => has_many = true,
            None => legs.push(leg),
        }
        Ok(())
    })?;
    notes.borrow_mut().go_to_leg(0);
    if has_many || legs.is_empty() {
        return Err(Unfit);
    }
    share_weights(&mut legs)?;
    Ok(legs)
}

/// Scales weights to a sum of 1. Sorts the legs, so that no sum depends on their order in the body.
fn share_weights(legs: &mut [Leg]) -> Result<(), Unfit> {
    legs.sort_by(|one, other| (one.source, &one.name).cmp(&(other.source, &other.name)));
    let larger = legs.iter().fold(0.0_f64, |larger, leg| larger.max(leg.weight));
    if larger == 0.0 || legs.iter().any(|leg| leg.weight.is_nan()) {
        return Err(Unfit);
    }
    let sum: f64 = legs.iter().fold(0.0, |sum, leg| sum + leg.weight / larger);
    for leg in legs {
        leg.weight = leg.weight / larger / sum;
    }
    Ok(())
}

/// Reads `boosts`.
pub(super) fn read_boosts(scanner: &mut Scanner, notes: &Notes) -> Result<Vec<Boost>, Unfit> {
    let mut boosts: Vec<Boost> = Vec::new();
    notes.borrow_mut().forget(Place::Boosts);
    scanner.array(|scanner| {
        let boost = read_boost(scanner, notes)?;
        let repeated = boosts.iter().any(|known| known.name == boost.name);
        if repeated || boosts.len() == MOST_BOOSTS {
            return Err(Unfit);
        }
        boosts.push(boost);
        Ok(())
    })?;
    Ok(boosts)
}

fn read_boost(scanner: &mut Scanner, notes: &Notes) -> Result<Boost, Unfit> {
    const NAMES: [&[u8]; 7] = [
        b"value",
        b"origin",
        b"scale",
        b"offset",
        b"decay",
        b"function",
        b"weight",
    ];
    let mut name = NOWHERE;
    let mut boost = Boost {
        name: Vec::new(),
        value: u32::MAX,
        origin: 0.0,
        scale: 1.0,
        offset: 0.0,
        decay: 0.5,
        logarithm: 0.0,
        function: Decay::Exp,
        weight: 1.0,
    };
    let met = known_members(scanner, (notes, Place::Boosts), &NAMES, 3, |scanner, place| {
        match place {
            0 => name = scanner.string()?,
            1 => boost.origin = number(scanner, -MOST_NUMBER, MOST_NUMBER)?,
            2 => boost.scale = number(scanner, LEAST_SCALE, MOST_NUMBER)?,
            3 => boost.offset = number(scanner, 0.0, MOST_NUMBER)?,
            4 => boost.decay = number(scanner, DECAYS.0, DECAYS.1)?,
            5 => boost.function = word(scanner, &DECAY)?,
            _ => boost.weight = number(scanner, 0.0, 1.0)?,
        }
        Ok(())
    })?;
    if met & 0b111 != 0b111 {
        return Err(Unfit);
    }
    boost.name = name_of(scanner, name)?;
    // By the logarithm of a number that is at least 1.
    boost.logarithm = -logarithm(1.0 / boost.decay);
    Ok(boost)
}

/// Faults of names that only all docs together show.
#[derive(Debug, Default)]
pub(in crate::fuse) struct Faults {
    json: Vec<u8>,
    count: usize,
}

/// Most faults that are listed.
const MOST_FAULTS: usize = 100;

impl Faults {
    /// Adds a fault. `place`: its steps as JSON; a `name` from the body is one more.
    pub(in crate::fuse) fn add(&mut self, place: &str, name: Option<&[u8]>, message: &str) {
        if self.count == MOST_FAULTS {
            return;
        }
        self.json.push(if self.count == 0 { b'[' } else { b',' });
        self.count += 1;
        self.json.extend_from_slice(b"{\"loc\":[\"body\",");
        self.json.extend_from_slice(place.as_bytes());
        if let Some(name) = name {
            self.json.push(b',');
            crate::json::body::write_name(name, &mut self.json);
        }
        self.json.extend_from_slice(b"],\"message\":\"");
        json::write_text(message.as_bytes(), &mut self.json);
        self.json.extend_from_slice(b"\"}");
    }

    /// True if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Takes all as a JSON array; `None` if there are none.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let mut json = std::mem::take(&mut self.json);
        json.push(b']');
        (std::mem::take(&mut self.count) > 0).then_some(json)
    }
}

/// The first short names, for a sentence that many faults may have.
fn listed<'a>(names: impl Iterator<Item = &'a [u8]>) -> String {
    const MOST_BYTES: usize = 256;
    let mut listed = String::new();
    for name in names.filter(|name| name.len() <= MOST_CHARACTERS) {
        let name = String::from_utf8_lossy(name);
        if listed.len() + name.len() > MOST_BYTES {
            break;
        }
        if !listed.is_empty() {
            listed.push_str(", ");
        }
        listed.push_str(&name);
    }
    listed
}

/// Finds the sent scores of legs and the values of boosts; adds faults.
pub(super) fn look_up(
    (legs, scores): (&mut [Leg], &Named),
    (boosts, values): (&mut [Boost], &Named),
    faults: &mut Faults,
) {
    for leg in &mut *legs {
        if let Source::Sent(place) = &mut leg.source {
            match scores.find(&leg.name) {
                Some(found) => *place = found,
                None => faults.add("\"legs\"", Some(&leg.name), &unsent("score", "scores", scores)),
            }
        }
    }
    for (at, boost) in boosts.iter_mut().enumerate() {
        match values.find(&boost.name) {
            Some(found) => boost.value = found,
            None => {
                let place = format!("\"boosts\",{at},\"value\"");
                faults.add(&place, None, &unsent("value", "values", values));
            }
        }
    }
    let sent = legs.iter().filter(|leg| matches!(leg.source, Source::Sent(_)));
    let names: Vec<&[u8]> = sent.map(|leg| &leg.name[..]).collect();
    unasked((scores, "scores"), &names, "legs", faults);
    let names: Vec<&[u8]> = boosts.iter().map(|boost| &boost.name[..]).collect();
    unasked((values, "values"), &names, "boosts", faults);
}

fn unsent(what: &str, member: &str, sent: &Named) -> String {
    let names = listed(sent.names().iter().map(|name| &name[..]));
    let sent = if names.is_empty() {
        "none is sent".to_owned()
    } else {
        format!("sent: {names}")
    };
    format!("no doc has a {what} of this name in its {member}; {sent}")
}

/// Adds a fault for each name that docs have and `asked` lacks, at its first occurrence.
fn unasked((sent, member): (&Named, &str), asked: &[&[u8]], by: &str, faults: &mut Faults) {
    let unknown: Vec<bool> = sent
        .names()
        .iter()
        .map(|name| !asked.contains(&&name[..]))
        .collect();
    if !unknown.contains(&true) {
        return;
    }
    let known = listed(asked.iter().copied());
    let known = if known.is_empty() {
        format!("{by} names none")
    } else {
        format!("named there: {known}")
    };
    let mut seen = vec![false; unknown.len()];
    for number in sent.numbers() {
        let name = number.name as usize;
        if !unknown[name] || std::mem::replace(&mut seen[name], true) {
            continue;
        }
        let place = format!("\"docs\",{},\"{member}\"", number.doc);
        let message = format!("{by} does not name it; {known}");
        faults.add(&place, Some(&sent.names()[name]), &message);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_sentence_has_the_first_short_names_as_far_as_they_fit() {
        let listed = |names: &[&str]| super::listed(names.iter().map(|name| name.as_bytes()));
        let name = |length: usize| "n".repeat(length);
        let (longest, longer) = (name(64), name(65));
        assert_eq!(listed(&[]), "");
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a", &longer, &longest]), format!("a, {longest}"));
        // Three take 196 bytes of 256.
        let three = [&longest[..]; 3];
        for (length, fits) in [(59, true), (60, true), (61, false)] {
            let last = name(length);
            let all = listed(&[&three[..], &[&last]].concat());
            let expected = if fits {
                &[&three[..], &[&last]].concat()
            } else {
                &three[..]
            };
            assert_eq!(all, expected.join(", "), "{length}");
        }
        assert_eq!(
            listed(&[&three[..], &[&name(61), "b"]].concat()),
            three.join(", ")
        );
    }
}
