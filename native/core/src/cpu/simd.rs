//! Vector instructions of the CPU, detected once for all functions that are compiled for them.
//!
//! Each such function takes the [`Path`] to use. A path exists only if the CPU has all of its instructions,
//! which makes the calls sound; tests run every path that the machine has.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Sets of instructions; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Level {
    /// The instructions that every CPU of the platform has.
    Portable = 1,
    /// `avx2,bmi1,bmi2,popcnt`
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// `avx512bw,avx512vl`
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// `avx512vbmi2,avx512vpopcntdq`
    #[cfg(target_arch = "x86_64")]
    Avx512Vbmi2,
}

#[cfg(target_arch = "x86_64")]
const LEVELS: [Level; 4] = [Level::Portable, Level::Avx2, Level::Avx512, Level::Avx512Vbmi2];
#[cfg(not(target_arch = "x86_64"))]
const LEVELS: [Level; 1] = [Level::Portable];

impl Level {
    /// True if the CPU has the instructions that this level adds to the one before.
    fn added(self) -> bool {
        match self {
            Level::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                std::is_x86_feature_detected!("avx2")
                    && std::is_x86_feature_detected!("bmi1")
                    && std::is_x86_feature_detected!("bmi2")
                    && std::is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                std::is_x86_feature_detected!("avx512bw") && std::is_x86_feature_detected!("avx512vl")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Vbmi2 => {
                std::is_x86_feature_detected!("avx512vbmi2")
                    && std::is_x86_feature_detected!("avx512vpopcntdq")
            }
        }
    }
}

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Prefetches a value that is read soon. The CPU itself prefetches only consecutive values, so that a reader
/// would wait for each one that lies elsewhere. Does nothing except on x86-64.
#[inline(always)]
pub(crate) fn bring<Value>(value: &Value) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = std::ptr::from_ref(value).cast::<i8>();
        for at in (0..size_of::<Value>()).step_by(LINE) {
            // SAFETY: the address lies in the value; the instruction changes nothing that a program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// A level that this CPU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path(Level);

impl Path {
    /// The instructions that may be used.
    #[inline]
    pub(crate) fn level(self) -> Level {
        self.0
    }

    /// The best path.
    #[inline]
    pub(crate) fn best() -> Self {
        static BEST: AtomicU8 = AtomicU8::new(0);
        let known = BEST.load(Relaxed);
        match LEVELS.get(usize::from(known).wrapping_sub(1)) {
            Some(&level) => Path(level),
            None => {
                let best = Self::all().last().unwrap_or(Path(Level::Portable));
                BEST.store(best.0 as u8, Relaxed);
                best
            }
        }
    }

    /// All paths, from the portable one to the best.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        LEVELS.into_iter().take_while(|level| level.added()).map(Path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_path_is_the_last_one_that_the_cpu_has() {
        let all: Vec<Path> = Path::all().collect();
        assert_eq!(all[0].level(), Level::Portable);
        assert!(all.is_sorted_by(|one, next| one.level() < next.level()));
        for _ in 0..2 {
            assert_eq!(Some(&Path::best()), all.last());
        }
        for (at, level) in LEVELS.iter().enumerate() {
            assert_eq!(*level as usize, at + 1);
        }
    }

    /// Adds the other sources in a folder and below, found rather than listed: a list would miss a new one.
    #[cfg(target_arch = "x86_64")]
    fn add_sources(folder: &std::path::Path, sources: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                add_sources(&path, sources);
            } else if !path.ends_with("cpu/simd.rs") {
                sources.push(std::fs::read_to_string(path).expect("a source"));
            }
        }
    }

    /// A CPU that lacks one of a level's instructions does not use the level: `avx2` alone is not enough for
    /// functions that are compiled for `bmi1` and `popcnt`, too.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn what_is_compiled_for_a_level_is_what_the_level_asks_for() {
        let mut sources = Vec::new();
        add_sources(concat!(env!("CARGO_MANIFEST_DIR"), "/src").as_ref(), &mut sources);
        let asked = include_str!("simd.rs");
        let mut checked = 0;
        for source in sources {
            assert_eq!(source.matches("is_x86_feature_detected").count(), 0);
            for enabled in source.split("#[target_feature(enable = \"").skip(1) {
                let (features, _) = enabled.split_once('"').expect("a list of features");
                for feature in features.split(',') {
                    // Every x86-64 has SSE2.
                    let is_known = feature == "sse2" || asked.contains(&format!("detected!(\"{feature}\")"));
                    assert!(is_known, "{feature}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 10);
    }
}
