//! Finds the best window of matches up to a length: that with the most different terms, then the most
//! matches, then the first.

use crate::cpu::simd::{Level, Path};
use crate::tokens::terms::{Located, Places, SLACK};

/// The value of a window: its different terms, then its matches.
pub(super) type Value = (usize, usize);

/// Windows computed at once, and the matches that each tries between checks for the end.
const LANES: usize = 16;
const STEPS: usize = 4;
/// Zeros precede the first match, as many as may be read before it.
const _: () = assert!(2 * LANES + STEPS <= SLACK);
/// If windows have more matches than this on average, matches are read one by one.
const MANY: usize = 2 * LANES;
/// Terms that a word has a bit for, and most words of each window when several are computed at once.
const BITS: usize = 32;
const MOST_WORDS: usize = 2;

/// State for reading matches one by one. They are numbered from 1 on through all texts, so that nothing is
/// cleared between texts.
#[derive(Debug)]
pub(super) struct Window {
    path: Path,
    /// The number of each term's last match.
    last: Vec<u64>,
    /// How many matches were read before.
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

    /// The value and the matches of the best window of at most `most` code points among the matches
    /// `first..after`, with no chosen fragment between them. For each match, the widest window that ends with
    /// it is tried. A match longer than `most` is in no window.
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
        let (value, last) = match self.last.len().div_ceil(BITS) {
            0 | 1 => best_at_once::<1>(self.path, places, (first, after), most),
            MOST_WORDS => best_at_once::<MOST_WORDS>(self.path, places, (first, after), most),
            _ => return self.best_one_by_one(places, (first, after), most),
        };
        let (different, count) = ((value >> 16) as usize, (value & 0xFFFF) as usize);
        (value > 0).then_some(((different, count), (last + 1 - count, last + 1)))
    }

    /// As [`Window::best`], one match at a time.
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

/// The value of the best window (different terms << 16 | matches), and the index of its last match.
fn best_at_once<const WORDS: usize>(
    path: Path,
    places: &Places,
    range: (usize, usize),
    most: u32,
) -> (u32, usize) {
    match path.level() {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 | Level::Avx512 => unsafe { avx512::best::<WORDS>(places, range, most) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2::best::<WORDS>(places, range, most) },
        Level::Portable => best_by(places, range, most, portable::<WORDS>),
    }
}

type Lanes = [u32; LANES];

/// The next `COUNT` numbers of `list` from `at` on; zeros if it has fewer.
#[inline(always)]
fn numbers<const COUNT: usize>(list: &[u32], at: usize) -> &[u32; COUNT] {
    list[at..].first_chunk().unwrap_or(&[0; COUNT])
}

/// Matches whose windows are computed at once.
struct Group<'a> {
    /// The starts of all matches, and their terms.
    starts: &'a [u32],
    terms: &'a [u32],
    /// The first match of the group.
    first: usize,
    /// For each match, the least start in its window.
    least: Lanes,
}

/// One number of each match that [`STEPS`] steps read.
type Seen = [u32; LANES + STEPS - 1];

impl Group<'_> {
    /// Calls `look` with the matches of [`STEPS`] steps at a time, the last ones first, until it returns
    /// false: no window contains the earliest of them.
    #[inline(always)]
    fn walk(&self, mut look: impl FnMut(&Seen, &Seen) -> bool) {
        let mut at = self.first + 1;
        while at >= STEPS {
            at -= STEPS;
            if !look(numbers(self.starts, at), numbers(self.terms, at)) {
                break;
            }
        }
    }
}

/// [`best_at_once`], for [`LANES`] windows at a time. Each begins with its own match and adds those before
/// it, until no window gains another. The terms of a window are bits.
#[inline(always)]
fn best_by(
    places: &Places,
    (first, after): (usize, usize),
    most: u32,
    values_of: impl Fn(&Group) -> Lanes,
) -> (u32, usize) {
    let (starts, ends, terms) = (places.starts(), places.ends(), places.terms());
    // Matches before `first` have lower numbers, or are zeros: their windows are empty.
    let floor = starts[first];
    let (mut best, mut last) = ([0; LANES], [0; LANES]);
    let count = (after - first).next_multiple_of(LANES);
    for group in (after - count..after).step_by(LANES) {
        let own = numbers::<LANES>(ends, group);
        let least = std::array::from_fn(|lane| own[lane].saturating_sub(most).max(floor));
        let values = values_of(&Group {
            starts,
            terms,
            first: group,
            least,
        });
        for lane in 0..LANES {
            let is_better = values[lane] > best[lane];
            best[lane] = if is_better { values[lane] } else { best[lane] };
            last[lane] = if is_better { group as u32 } else { last[lane] };
        }
    }
    // The best value, then the first match that has it: compared as one number, without branches.
    let mut found = 0;
    for lane in 0..LANES {
        let place = last[lane] + lane as u32;
        found = found.max(u64::from(best[lane]) << 32 | u64::from(!place));
    }
    ((found >> 32) as u32, !(found as u32) as usize)
}

/// The values of windows, from `counts` of matches and `bits` of terms.
#[inline(always)]
fn valued<const COUNT: usize, const WORDS: usize>(
    counts: [u32; COUNT],
    bits: [[u32; COUNT]; WORDS],
) -> [u32; COUNT] {
    std::array::from_fn(|lane| {
        let different: u32 = bits.iter().map(|word| word[lane].count_ones()).sum();
        different << 16 | counts[lane]
    })
}

/// The values of the windows of a group.
fn portable<const WORDS: usize>(group: &Group) -> Lanes {
    let (mut counts, mut bits) = ([0; LANES], [[0; LANES]; WORDS]);
    group.walk(|starts, terms| {
        let mut any = false;
        for step in (0..STEPS).rev() {
            any = false;
            for lane in 0..LANES {
                let is_within = starts[step + lane] >= group.least[lane];
                let (term, one) = (terms[step + lane] as usize, u32::from(is_within));
                for (word, bits) in bits.iter_mut().enumerate() {
                    let is_of_word = term / BITS == word;
                    bits[lane] |= if is_of_word { one << (term % BITS) } else { 0 };
                }
                counts[lane] += one;
                any |= is_within;
            }
        }
        any
    });
    valued(counts, bits)
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{BITS, Group, LANES, Lanes, Places, STEPS, Seen, best_by, valued};
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn load(seen: &Seen, at: usize) -> __m512i {
        debug_assert!(at + LANES <= seen.len());
        // SAFETY: callers pass less than STEPS, so that the array has 64 bytes from there; no alignment is
        // needed.
        unsafe { _mm512_loadu_si512(seen.as_ptr().add(at).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn numbers(lanes: __m512i) -> Lanes {
        let mut found = [0; LANES];
        // SAFETY: the array is 64 bytes long; no alignment is needed.
        unsafe { _mm512_storeu_si512(found.as_mut_ptr().cast(), lanes) };
        found
    }

    /// As [`super::portable`].
    #[inline]
    #[target_feature(enable = "avx512bw")]
    fn values<const WORDS: usize>(group: &Group) -> Lanes {
        // SAFETY: the array is 64 bytes long; no alignment is needed.
        let least = unsafe { _mm512_loadu_si512(group.least.as_ptr().cast()) };
        let (one, word) = (_mm512_set1_epi32(1), _mm512_set1_epi32(BITS as i32));
        let (mut counts, mut bits) = (_mm512_setzero_si512(), [_mm512_setzero_si512(); WORDS]);
        group.walk(|starts, terms| {
            let mut within = 0;
            for step in (0..STEPS).rev() {
                within = _mm512_cmpge_epu32_mask(load(starts, step), least);
                counts = _mm512_mask_add_epi32(counts, within, counts, one);
                let mut term = load(terms, step);
                for bits in &mut bits {
                    // A shift of 32 or more gives no bit.
                    *bits = _mm512_mask_or_epi32(*bits, within, *bits, _mm512_sllv_epi32(one, term));
                    term = _mm512_sub_epi32(term, word);
                }
            }
            within != 0
        });
        valued(numbers(counts), bits.map(|bits| numbers(bits)))
    }

    /// As [`super::best_at_once`].
    #[target_feature(enable = "avx512bw")]
    pub(super) fn best<const WORDS: usize>(
        places: &Places,
        range: (usize, usize),
        most: u32,
    ) -> (u32, usize) {
        best_by(places, range, most, |group| values::<WORDS>(group))
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{BITS, Group, LANES, Places, STEPS, Seen, best_by, valued};
    use std::arch::x86_64::*;

    const HALF: usize = LANES / 2;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(seen: &Seen, at: usize) -> __m256i {
        debug_assert!(at + HALF <= seen.len());
        // SAFETY: callers pass less than HALF + STEPS, so that 32 bytes follow; no alignment is needed.
        unsafe { _mm256_loadu_si256(seen.as_ptr().add(at).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn numbers(lanes: __m256i) -> [u32; HALF] {
        let mut found = [0; HALF];
        // SAFETY: the array is 32 bytes long; no alignment is needed.
        unsafe { _mm256_storeu_si256(found.as_mut_ptr().cast(), lanes) };
        found
    }

    /// All ones in each lane where `numbers` is at least `least`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn at_least(numbers: __m256i, least: __m256i) -> __m256i {
        _mm256_cmpeq_epi32(_mm256_max_epu32(numbers, least), numbers)
    }

    /// The values of half a group.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    fn values_of_half<const WORDS: usize>(group: &Group, half: usize) -> [u32; HALF] {
        debug_assert!(half + HALF <= LANES);
        // SAFETY: callers pass 0 or half of the lanes, so that the array has 32 bytes from there; no
        // alignment is needed.
        let least = unsafe { _mm256_loadu_si256(group.least.as_ptr().add(half).cast()) };
        let (one, word) = (_mm256_set1_epi32(1), _mm256_set1_epi32(BITS as i32));
        let (mut counts, mut bits) = (_mm256_setzero_si256(), [_mm256_setzero_si256(); WORDS]);
        group.walk(|starts, terms| {
            let mut within = _mm256_setzero_si256();
            for step in (0..STEPS).rev() {
                within = at_least(load(starts, half + step), least);
                counts = _mm256_sub_epi32(counts, within);
                let mut term = load(terms, half + step);
                for bits in &mut bits {
                    // A shift of 32 or more gives no bit.
                    let own = _mm256_and_si256(_mm256_sllv_epi32(one, term), within);
                    *bits = _mm256_or_si256(*bits, own);
                    term = _mm256_sub_epi32(term, word);
                }
            }
            _mm256_movemask_epi8(within) != 0
        });
        valued(numbers(counts), bits.map(|bits| numbers(bits)))
    }

    /// As [`super::best_at_once`].
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn best<const WORDS: usize>(
        places: &Places,
        range: (usize, usize),
        most: u32,
    ) -> (u32, usize) {
        best_by(places, range, most, |group| {
            let halves = [
                values_of_half::<WORDS>(group, 0),
                values_of_half::<WORDS>(group, HALF),
            ];
            std::array::from_fn(|lane| halves[lane / HALF][lane % HALF])
        })
    }
}
