//! The best window of matches of a length: that of the most different terms, then of the most matches, then
//! the first.

use crate::simd::{Level, Path};
use crate::terms::{Located, Places, SLACK};

/// The rank of a window: its different terms, then its matches.
pub(super) type Value = (usize, usize);

/// Windows that are looked at at once, and matches of each one after the other.
const LANES: usize = 16;
const STEPS: usize = 4;
/// There are zeros before the first match for as many as may be looked at before it.
const _: () = assert!(2 * LANES + STEPS <= SLACK);
/// Where this many matches stand in a window on average, the others are looked at one by one.
const MANY: usize = 2 * LANES;

/// Room for looking at matches one by one. Each has a number of its own, from 1 on, so that nothing is
/// cleared between texts.
#[derive(Debug)]
pub(super) struct Window {
    path: Path,
    /// Number of the last match of each term.
    last: Vec<u64>,
    /// Number of matches in the windows before.
    before: u64,
}

impl Window {
    /// `terms`: the number of the query's terms.
    pub(super) fn new(path: Path, terms: usize) -> Self {
        Window {
            path,
            last: vec![0; terms],
            before: 0,
        }
    }

    /// The best window of at most that length among the matches from one up to another, of which nothing
    /// stands between: for each match the widest window that ends with it. A longer match than a window is
    /// in none.
    pub(super) fn best(
        &mut self,
        located: Located<'_>,
        (first, after): (usize, usize),
        most: u32,
    ) -> Option<(Value, (usize, usize))> {
        if first == after {
            return None;
        }
        let places = located.places;
        let length = places.ends()[after - 1] - places.starts()[first];
        if (after - first) as u64 * u64::from(most) > MANY as u64 * u64::from(length.max(most)) {
            return self.best_one_by_one(places, (first, after), most);
        }
        let (value, last) = best_at_once(self.path, places, (first, after), most);
        let (different, count) = ((value >> 16) as usize, (value & 0xFFFF) as usize);
        (value > 0).then_some(((different, count), (last + 1 - count, last + 1)))
    }

    /// The same, one match after the other.
    fn best_one_by_one(
        &mut self,
        places: &Places,
        (first, after): (usize, usize),
        most: u32,
    ) -> Option<(Value, (usize, usize))> {
        let Window { last, before, .. } = self;
        let (starts, ends, terms) = (places.starts(), places.ends(), places.terms());
        let (mut best, mut window) = ((0, 0), (0, 0));
        let (mut start, mut different) = (first, 0);
        let begin = first;
        for at in first..after {
            let number = |at: usize| *before + (at - begin) as u64 + 1;
            let known = &mut last[terms[at] as usize];
            different += usize::from(*known < number(start));
            *known = number(at);
            let least = ends[at].saturating_sub(most);
            while start <= at && starts[start] < least {
                different -= usize::from(last[terms[start] as usize] == number(start));
                start += 1;
            }
            let value = (different, at + 1 - start);
            if value > best {
                (best, window) = (value, (start, at + 1));
            }
        }
        *before += (after - first) as u64;
        (best != (0, 0)).then_some((best, window))
    }
}

/// The value of the best window, its different terms above its matches, and its last match.
fn best_at_once(path: Path, places: &Places, range: (usize, usize), most: u32) -> (u32, usize) {
    match path.level() {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 | Level::Avx512 => unsafe { avx512::best(places, range, most) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::best(places, range, most) },
        Level::Portable => best_by(places, range, most, portable),
    }
}

type Lanes = [u32; LANES];

/// As many numbers of a list as there are in it from a place on.
#[inline(always)]
fn numbers<const COUNT: usize>(list: &[u32], at: usize) -> &[u32; COUNT] {
    list[at..].first_chunk().unwrap_or(&[0; COUNT])
}

/// Matches whose windows are looked at at once.
struct Group<'a> {
    /// The starts of all matches, and of each that of the one of its term before it.
    starts: &'a [u32],
    before: &'a [u32],
    /// The first match of the group.
    first: usize,
    /// The least start in the window of each.
    least: Lanes,
}

/// As many matches as the steps after the other look at.
type Seen = [u32; LANES + STEPS - 1];

impl Group<'_> {
    /// Calls `look` with what is looked at in each few steps, the last one first, until it says that none was
    /// in a window at the last.
    #[inline(always)]
    fn walk(&self, mut look: impl FnMut(&Seen, &Seen) -> bool) {
        let mut at = self.first + 1;
        while at >= STEPS {
            at -= STEPS;
            if !look(numbers(self.starts, at), numbers(self.before, at)) {
                break;
            }
        }
    }
}

/// Looks at the windows of [`LANES`] matches at once, of each first at the match itself, then at the one
/// before it, and so on until none of these is in its window.
///
/// A match is the first of its term in a window where the one of its term before it is not in the window.
#[inline(always)]
fn best_by(
    places: &Places,
    (first, after): (usize, usize),
    most: u32,
    values_of: impl Fn(&Group) -> Lanes,
) -> (u32, usize) {
    let (starts, ends, before) = (places.starts(), places.ends(), places.before());
    // The matches before the first have lower numbers, or are zeros: the windows of those hold none.
    let floor = starts[first];
    let (mut best, mut last) = ([0; LANES], [0; LANES]);
    let count = (after - first).next_multiple_of(LANES);
    for group in (after - count..after).step_by(LANES) {
        let own = numbers::<LANES>(ends, group);
        let least = std::array::from_fn(|lane| own[lane].saturating_sub(most).max(floor));
        let values = values_of(&Group {
            starts,
            before,
            first: group,
            least,
        });
        for lane in 0..LANES {
            let is_better = values[lane] > best[lane];
            best[lane] = if is_better { values[lane] } else { best[lane] };
            last[lane] = if is_better { group as u32 } else { last[lane] };
        }
    }
    let (mut value, mut at) = (0, 0);
    for lane in 0..LANES {
        let own = last[lane] as usize + lane;
        if best[lane] > value || best[lane] == value && own < at {
            (value, at) = (best[lane], own);
        }
    }
    (value, at)
}

/// The values of the windows of a group.
fn portable(group: &Group) -> Lanes {
    let mut values = [0; LANES];
    group.walk(|starts, before| {
        let mut any = false;
        for step in (0..STEPS).rev() {
            any = false;
            for lane in 0..LANES {
                let is_within = starts[step + lane] >= group.least[lane];
                let is_first = is_within & (before[step + lane] < group.least[lane]);
                values[lane] += u32::from(is_first) << 16 | u32::from(is_within);
                any |= is_within;
            }
        }
        any
    });
    values
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Group, LANES, Lanes, Places, STEPS, Seen, best_by};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn load(seen: &Seen, at: usize) -> __m512i {
        debug_assert!(at + LANES <= seen.len());
        // SAFETY: callers pass less than the number of steps, so that the array has 64 bytes from there; no
        // alignment is needed.
        unsafe { _mm512_loadu_si512(seen.as_ptr().add(at).cast()) }
    }

    /// As [`super::portable`].
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn values(group: &Group) -> Lanes {
        // SAFETY: the array is 64 bytes long; no alignment is needed.
        let least = unsafe { _mm512_loadu_si512(group.least.as_ptr().cast()) };
        let (one, first) = (_mm512_set1_epi32(1), _mm512_set1_epi32(1 << 16));
        let mut values = _mm512_setzero_si512();
        group.walk(|starts, before| {
            let mut within = 0;
            for step in (0..STEPS).rev() {
                within = _mm512_cmpge_epu32_mask(load(starts, step), least);
                let firsts = _mm512_mask_cmplt_epu32_mask(within, load(before, step), least);
                values = _mm512_mask_add_epi32(values, within, values, one);
                values = _mm512_mask_add_epi32(values, firsts, values, first);
            }
            within != 0
        });
        let mut found = [0; LANES];
        // SAFETY: the array is 64 bytes long; no alignment is needed.
        unsafe { _mm512_storeu_si512(found.as_mut_ptr().cast(), values) };
        found
    }

    /// As [`super::best_at_once`].
    #[target_feature(enable = "avx512bw")]
    pub(super) fn best(places: &Places, range: (usize, usize), most: u32) -> (u32, usize) {
        best_by(places, range, most, |group| values(group))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Group, LANES, Places, STEPS, Seen, best_by};
    use std::arch::x86_64::*;

    const HALF: usize = LANES / 2;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(seen: &Seen, at: usize) -> __m256i {
        debug_assert!(at + HALF <= seen.len());
        // SAFETY: callers pass less than the number of steps, or that and a half; no alignment is needed.
        unsafe { _mm256_loadu_si256(seen.as_ptr().add(at).cast()) }
    }

    /// Ones where a number is at least another.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_least(numbers: __m256i, least: __m256i) -> __m256i {
        _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, least), numbers)
    }

    /// The values of half a group.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn values_of_half(group: &Group, half: usize) -> [u32; HALF] {
        debug_assert!(half + HALF <= LANES);
        // SAFETY: callers pass 0 or half of the lanes, so that the array has 32 bytes from there; no
        // alignment is needed.
        let least = unsafe { _mm256_loadu_si256(group.least.as_ptr().add(half).cast()) };
        let first = _mm256_set1_epi32(1 << 16);
        let mut values = _mm256_setzero_si256();
        group.walk(|starts, before| {
            let mut within = _mm256_setzero_si256();
            for step in (0..STEPS).rev() {
                within = at_least(load(starts, half + step), least);
                let known = at_least(load(before, half + step), least);
                let firsts = _mm256_and_si256(_mm256_andnot_si256(known, within), first);
                values = _mm256_add_epi32(_mm256_sub_epi32(values, within), firsts);
            }
            _mm256_movemask_epi8(within) != 0
        });
        let mut found = [0; HALF];
        // SAFETY: the array is 32 bytes long; no alignment is needed.
        unsafe { _mm256_storeu_si256(found.as_mut_ptr().cast(), values) };
        found
    }

    /// As [`super::best_at_once`].
    #[target_feature(enable = "avx2")]
    pub(super) fn best(places: &Places, range: (usize, usize), most: u32) -> (u32, usize) {
        best_by(places, range, most, |group| {
            let halves = [values_of_half(group, 0), values_of_half(group, HALF)];
            std::array::from_fn(|lane| halves[lane / HALF][lane % HALF])
        })
    }
}
