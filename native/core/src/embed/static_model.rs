//! Sentence vectors without a neural network: a vector for each word piece, summed over a text (as in
//! model2vec and earlier bag-of-embeddings models). Sums are integers, so that a text's vector and every
//! similarity are the same on every machine.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use memmap2::Mmap;

use super::sight::Sight;
use super::wordpiece::{Vocabulary, split_at_word};
use crate::cpu::simd::{self, Level};

/// Dimension of a vector.
pub const DIMENSION: usize = 256;

/// The vocabulary's file: an entry a line, in the order of ids.
pub const VOCABULARY_FILE: &str = "vocabulary.txt";
/// The vectors' file: [`DIMENSION`] signed bytes per entry. A piece's weight is its vector's length; a piece
/// without weight has zeros.
pub const VECTORS_FILE: &str = "vectors.i8";

/// A vector in signed bytes.
pub type Vector = [i8; DIMENSION];

/// A text's vector, not scaled.
pub type Sums = [i64; DIMENSION];

/// Vectors that can be added before a sum exceeds 16 bits.
const ROWS_IN_16_BITS: usize = (i16::MAX / 128) as usize;

/// The pieces' vectors, mapped so that the processes of a machine share them.
pub struct StaticModel {
    vocabulary: Vocabulary,
    vectors: Mmap,
}

/// Buffers that one thread reuses from text to text.
#[derive(Debug, Default)]
pub struct Scratch {
    word: Vec<u8>,
    pieces: Vec<u32>,
}

/// Bytes of a text that are read at once: a byte may be a piece, which takes four.
const AT_ONCE: usize = 64 << 10;

/// Buffers above this size are freed.
const KEPT_BYTES: usize = 1 << 20;

impl StaticModel {
    /// Opens a model's folder; its files are only ever replaced whole.
    ///
    /// # Errors
    /// Missing files, or files that do not fit each other.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let wrong = |what: &str| {
            let text = format!("{} is no static model: {what}", folder.display());
            io::Error::new(ErrorKind::InvalidData, text)
        };
        let text = fs::read_to_string(folder.join(VOCABULARY_FILE))?;
        let vocabulary = Vocabulary::new(text.lines())
            .map_err(|bad| wrong(&format!("its vocabulary cannot be used ({bad:?})")))?;
        let file = File::open(folder.join(VECTORS_FILE))?;
        // SAFETY: an installed model's files are never written; a new model takes over the folder's name.
        let vectors = unsafe { Mmap::map(&file)? };
        if vectors.len() != vocabulary.len() * DIMENSION || vocabulary.is_empty() {
            return Err(wrong("its vectors do not fit its vocabulary"));
        }
        Ok(Self { vocabulary, vectors })
    }

    /// The vector of a text; zeros if it has no words.
    pub fn embed(&self, text: &str, scratch: &mut Scratch) -> Sums {
        self.read(text, scratch).0
    }

    /// The vector of a text, and how much of the text the model knows.
    pub fn read(&self, text: &str, scratch: &mut Scratch) -> (Sums, Sight) {
        let (part, mut rest) = split_at_word(text, AT_ONCE);
        let (mut sums, mut known, mut unknown) = self.read_part(part, scratch);
        while !rest.is_empty() {
            let (part, after) = split_at_word(rest, AT_ONCE);
            let more = self.read_part(part, scratch);
            sums.iter_mut().zip(more.0).for_each(|(sum, more)| *sum += more);
            (known, unknown, rest) = (known + more.1, unknown + more.2, after);
        }
        if scratch.pieces.capacity() * size_of::<u32>() + scratch.word.capacity() > KEPT_BYTES {
            *scratch = Scratch::default();
        }
        (sums, Sight::of(known, unknown))
    }

    /// The vector of a part of a text, and the numbers of its known and unknown tokens.
    fn read_part(&self, part: &str, scratch: &mut Scratch) -> (Sums, usize, usize) {
        scratch.pieces.clear();
        let (known, unknown) = self
            .vocabulary
            .tokenize(part, &mut scratch.word, &mut scratch.pieces);
        (self.sum(&scratch.pieces), known, unknown)
    }

    fn rows(&self) -> &[Vector] {
        let bytes: &[u8] = &self.vectors;
        // SAFETY: a signed byte has the layout of a byte, and a row that of its bytes; `open` verified that
        // whole rows fill the mapping, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<Vector>(), bytes.len() / DIMENSION) }
    }

    fn sum(&self, pieces: &[u32]) -> Sums {
        sum_by(simd::Path::best(), self.rows(), pieces)
    }
}

/// Sums the rows of pieces on a path of the CPU.
fn sum_by(path: simd::Path, rows: &[Vector], pieces: &[u32]) -> Sums {
    match path.level() {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512Vbmi2 | Level::Avx512 => unsafe { sum_avx512(rows, pieces) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { sum_avx2(rows, pieces) },
        Level::Portable => sum_portable(rows, pieces),
    }
}

/// Sums the rows of pieces: in 16 bits as long as they suffice, since a vector register holds more of those.
#[inline(always)]
fn sum_portable(rows: &[Vector], pieces: &[u32]) -> Sums {
    let mut sums = [0_i64; DIMENSION];
    for chunk in pieces.chunks(ROWS_IN_16_BITS) {
        let mut short = [0_i16; DIMENSION];
        for &piece in chunk {
            let row = &rows[piece as usize];
            for (sum, &number) in short.iter_mut().zip(row) {
                *sum += i16::from(number);
            }
        }
        for (sum, &part) in sums.iter_mut().zip(&short) {
            *sum += i64::from(part);
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512bw,avx512vl")]
fn sum_avx512(rows: &[Vector], pieces: &[u32]) -> Sums {
    sum_portable(rows, pieces)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(rows: &[Vector], pieces: &[u32]) -> Sums {
    sum_portable(rows, pieces)
}

/// Cosine of the angle between two texts' vectors; 0 if one of them is 0. The order of the sums is fixed, and
/// every step is correctly rounded: the same bits on every machine.
pub fn cosine(a: &Sums, b: &Sums) -> f64 {
    let square = |sums: &Sums| dot(sums, sums);
    let length = (square(a) * square(b)).sqrt();
    if length == 0.0 {
        0.0
    } else {
        (dot(a, b) / length).clamp(-1.0, 1.0) + 0.0
    }
}

/// Their scalar product.
pub(crate) fn dot(a: &Sums, b: &Sums) -> f64 {
    let mut lanes = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for (lane, (&a, &b)) in lanes.iter_mut().zip(a.iter().zip(b)) {
            *lane += a as f64 * b as f64;
        }
    }
    lanes.iter().sum()
}

/// A text's vector in signed bytes, scaled so that the largest magnitude is 127; halves round away from zero.
pub fn quantized(sums: &Sums) -> Vector {
    let largest = sums.iter().map(|sum| sum.abs()).max().unwrap_or(0).max(1);
    sums.map(|sum| {
        let magnitude = (sum.abs() * 127 * 2 + largest) / (largest * 2);
        (magnitude * sum.signum()) as i8
    })
}

/// The shipped model, for tests.
#[cfg(test)]
pub(crate) fn shipped() -> StaticModel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/static-256");
    StaticModel::open(&folder).expect("the model is kept with the code")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious sum, number by number.
    fn naive(rows: &[Vector], pieces: &[u32]) -> Sums {
        let mut sums = [0; DIMENSION];
        for &piece in pieces {
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum += i64::from(rows[piece as usize][at]);
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn sums_agree_with_the_obvious_ones(
            pieces in prop::collection::vec(0..3_u32, 0..1_000), numbers in any::<[i8; 3]>()
        ) {
            let rows: Vec<Vector> = (0..3).map(|row| {
                std::array::from_fn(|at| if at % 3 == row { numbers[row].max(-127) } else { at as i8 })
            }).collect();
            let expected = naive(&rows, &pieces);
            for path in simd::Path::all() {
                prop_assert_eq!(sum_by(path, &rows, &pieces), expected, "{:?}", path);
            }
        }
    }

    proptest! {
        #[test]
        fn quantizing_rounds_to_the_nearest(numbers in prop::collection::vec(-9_999..9_999_i64, DIMENSION)) {
            let sums: Sums = std::array::from_fn(|at| numbers[at]);
            let largest = numbers.iter().map(|number| number.abs()).max().unwrap_or(0).max(1) as f64;
            let expected = sums.map(|sum| (sum as f64 * 127.0 / largest).round() as i8);
            prop_assert_eq!(quantized(&sums), expected);
        }
    }

    #[test]
    fn the_longest_sums_hold() {
        let pieces = vec![0; 3 * ROWS_IN_16_BITS + 1];
        for number in [127, -127] {
            let sums = sum_portable(&[[number; DIMENSION]], &pieces);
            assert_eq!(sums, [i64::from(number) * pieces.len() as i64; DIMENSION]);
        }
    }

    #[test]
    fn texts_of_like_meaning_are_nearer() {
        let model = shipped();
        let mut scratch = Scratch::default();
        let mut embed = |text: &str| model.embed(text, &mut scratch);
        let wing = embed("Lift on the wing of an aeroplane at high speed");
        assert!(cosine(&wing, &embed("aerodynamic forces in supersonic flight")) > 0.4);
        assert!(cosine(&wing, &embed("the price of bread rose in winter")) < 0.2);
        assert!(
            cosine(
                &wing,
                &embed("LIFT: on the wing, of an aeroplane (at high speed)!")
            ) > 0.999_999
        );
        assert_eq!(cosine(&wing, &embed(" -- !")), 0.0);
        assert_eq!(quantized(&embed("")), [0; DIMENSION]);
        assert!(quantized(&wing).iter().any(|number| number.abs() == 127));
    }

    #[test]
    fn a_long_text_is_the_sum_of_its_words_and_takes_little_memory() {
        let model = shipped();
        let mut scratch = Scratch::default();
        for part in ["q,", "réseau 水水 ", "aeroplane ", "\u{301}e\u{301}\u{2003}"] {
            let count = 3 * AT_ONCE / part.len() + 1;
            let sums = model.embed(&part.repeat(count), &mut scratch);
            let one = model.embed(part, &mut scratch);
            assert_eq!(sums, one.map(|sum| sum * count as i64), "{part:?}");
            assert!(scratch.pieces.capacity() <= 2 * AT_ONCE, "{part:?}");
        }
        let unknown = format!("{} wing", "q".repeat(101));
        let text = [unknown.as_str(), " "].concat().repeat(AT_ONCE / 50);
        assert_eq!(
            model.read(&text, &mut scratch).1,
            model.read(&unknown, &mut scratch).1
        );
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let folder = std::env::temp_dir().join(format!("fusegate-static-{}", std::process::id()));
        let write = |vocabulary: &str, bytes: usize| {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join(VOCABULARY_FILE), vocabulary).expect("a file");
            std::fs::write(folder.join(VECTORS_FILE), vec![0; bytes]).expect("a file");
            StaticModel::open(&folder).is_ok()
        };
        assert!(StaticModel::open(&folder).is_err());
        assert!(write("a\nb\n", 2 * DIMENSION));
        assert!(!write("a\nb\n", 2 * DIMENSION - 1));
        assert!(!write("a\na\n", 2 * DIMENSION));
        assert!(!write("", 0));
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}
