//! Exponentials and logarithms of many numbers, several at once. Each equals that of `libm` to the last bit:
//! the same operations in the same order (FreeBSD's msun), with selections in place of branches, as the
//! branch that a number takes cannot be predicted.

use super::bm25::{exponential, logarithm};
#[cfg(target_arch = "x86_64")]
use crate::cpu::simd::Level;
use crate::cpu::simd::Path;

/// Replaces each number x by e^x.
pub(crate) fn exponentials(numbers: &mut [f64]) {
    exponentials_by(Path::best(), numbers);
}

/// Replaces each number by its natural logarithm. All must be at least 1.
pub(crate) fn logarithms(numbers: &mut [f64]) {
    logarithms_by(Path::best(), numbers);
}

/// [`exponentials`] on a given path.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
fn exponentials_by(path: Path, numbers: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if path.level() >= Level::Avx2 {
        // SAFETY: the path proves that the CPU has what the function is compiled for.
        return unsafe { avx2::exponentials(numbers) };
    }
    numbers
        .iter_mut()
        .for_each(|number| *number = exponential(*number));
}

/// [`logarithms`] on a given path.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
fn logarithms_by(path: Path, numbers: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if path.level() >= Level::Avx2 {
        // SAFETY: as above.
        return unsafe { avx2::logarithms(numbers) };
    }
    numbers.iter_mut().for_each(|number| *number = logarithm(*number));
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{exponential, logarithm};

    /// Numbers computed at once.
    const LANES: usize = 8;
    /// ln 2 in two parts.
    const LN_2: (f64, f64) = (
        f64::from_bits(0x3FE6_2E42_FEE0_0000),
        f64::from_bits(0x3DEA_39EF_3579_3C76),
    );
    const INVERSE_LN_2: f64 = f64::from_bits(0x3FF7_1547_652B_82FE);
    /// The polynomial of the exponential.
    const P: [f64; 5] = [
        f64::from_bits(0x3FC5_5555_5555_553E),
        f64::from_bits(0xBF66_C16C_16BE_BD93),
        f64::from_bits(0x3F11_566A_AF25_DE2C),
        f64::from_bits(0xBEBB_BD41_C5D2_6BF1),
        f64::from_bits(0x3E66_3769_72BE_A4D0),
    ];
    /// The polynomial of the logarithm.
    const LG: [f64; 7] = [
        f64::from_bits(0x3FE5_5555_5555_5593),
        f64::from_bits(0x3FD9_9999_9997_FA04),
        f64::from_bits(0x3FD2_4924_9422_9359),
        f64::from_bits(0x3FCC_71C5_1D8E_78AF),
        f64::from_bits(0x3FC7_4664_96CB_03DE),
        f64::from_bits(0x3FC3_9A09_D078_C69F),
        f64::from_bits(0x3FC2_F112_DF3E_5244),
    ];
    /// Lower bounds of absolute values: about 2^-28, ln 2 / 2 and 3 ln 2 / 2, then the first value whose
    /// exponential needs a special case. Each is the first number with its upper half.
    const TINY: f64 = f64::from_bits(0x3E30_0001_0000_0000);
    const HALF: f64 = f64::from_bits(0x3FD6_2E43_0000_0000);
    const ONE_AND_A_HALF: f64 = f64::from_bits(0x3FF0_A2B2_0000_0000);
    const LARGE: f64 = f64::from_bits(0x4086_232B_0000_0000);

    /// e to a power whose absolute value is below [`LARGE`].
    #[inline(always)]
    fn usual_exponential(power: f64) -> f64 {
        let size = power.abs();
        let halves = (INVERSE_LN_2 * power + 0.5_f64.copysign(power)).trunc();
        let one = 1.0_f64.copysign(power);
        let twos = if size >= ONE_AND_A_HALF { halves } else { one };
        let twos = if size >= HALF { twos } else { 0.0 };
        let (high, low) = (power - twos * LN_2.0, twos * LN_2.1);
        let rest = high - low;
        let square = rest * rest;
        let c = rest - square * (P[0] + square * (P[1] + square * (P[2] + square * (P[3] + square * P[4]))));
        let value = 1.0 + (rest * c / (2.0 - c) - low + high);
        // Adding 1.5 * 2^52 moves the number of twos to the lowest bits.
        let exponent = (twos + 6_755_399_441_055_744.0).to_bits().wrapping_add(1023) << 52;
        let value = value * f64::from_bits(exponent);
        if size >= TINY { value } else { 1.0 + power }
    }

    /// The natural logarithm of a finite number that is at least 1.
    #[inline(always)]
    fn usual_logarithm(number: f64) -> f64 {
        let bits = number.to_bits();
        // Reduced to the range from sqrt(1/2) to sqrt(2).
        let upper = (bits >> 32) + (0x3FF0_0000 - 0x3FE6_A09E);
        let reduced = ((upper & 0xF_FFFF) + 0x3FE6_A09E) << 32 | bits & 0xFFFF_FFFF;
        // 2^52 plus the biased exponent, minus 2^52 and the bias.
        let twos = f64::from_bits(0x4330_0000_0000_0000 | upper >> 20) - (4_503_599_627_370_496.0 + 1023.0);
        let f = f64::from_bits(reduced) - 1.0;
        let half = 0.5 * f * f;
        let s = f / (2.0 + f);
        let z = s * s;
        let w = z * z;
        let one = w * (LG[1] + w * (LG[3] + w * LG[5]));
        let other = z * (LG[0] + w * (LG[2] + w * (LG[4] + w * LG[6])));
        s * (half + (other + one)) + twos * LN_2.1 - half + f + twos * LN_2.0
    }

    /// As [`super::exponentials`].
    #[target_feature(enable = "avx2")]
    pub(super) fn exponentials(numbers: &mut [f64]) {
        let (groups, rest) = numbers.as_chunks_mut::<LANES>();
        for group in groups {
            // NaN is not below LARGE either.
            let are_usual = group.iter().fold(true, |all, power| all & (power.abs() < LARGE));
            if are_usual {
                *group = group.map(usual_exponential);
            } else {
                *group = group.map(exponential);
            }
        }
        rest.iter_mut().for_each(|number| *number = exponential(*number));
    }

    /// As [`super::logarithms`].
    #[target_feature(enable = "avx2")]
    pub(super) fn logarithms(numbers: &mut [f64]) {
        let (groups, rest) = numbers.as_chunks_mut::<LANES>();
        for group in groups {
            *group = group.map(usual_logarithm);
        }
        rest.iter_mut().for_each(|number| *number = logarithm(*number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers of every size, and numbers near the bounds between the cases of the exponential.
    fn power() -> impl Strategy<Value = f64> {
        let edges = [
            0.0,
            f64::from_bits(0x3E30_0001_0000_0000),
            f64::from_bits(0x3FD6_2E43_0000_0000),
            f64::from_bits(0x3FF0_A2B2_0000_0000),
            f64::from_bits(0x4086_232B_0000_0000),
            709.782_712_893_384,
            745.133_219_101_941_1,
            2.0_f64.powi(-53),
            f64::MAX,
        ];
        let near = (prop::sample::select(edges.to_vec()), -3_i64..4, any::<bool>());
        let near = near.prop_map(|(edge, step, negative)| {
            let value = f64::from_bits(edge.to_bits().saturating_add_signed(step));
            if negative { -value } else { value }
        });
        let tiny = (-60.0_f64..0.0).prop_map(|power| -power.exp2());
        prop_oneof![4 => -20.0_f64..20.0, 2 => -800.0_f64..800.0, 2 => tiny, 2 => near, 1 => any::<f64>()]
    }

    fn bits(numbers: &[f64]) -> Vec<u64> {
        numbers.iter().map(|number| number.to_bits()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn exponentials_are_those_of_libm(powers in prop::collection::vec(power(), 0..40)) {
            let naive: Vec<f64> = powers.iter().map(|&power| exponential(power)).collect();
            for path in Path::all() {
                let mut found = powers.clone();
                exponentials_by(path, &mut found);
                prop_assert_eq!(bits(&found), bits(&naive), "{:?}", path);
            }
        }

        #[test]
        fn logarithms_are_those_of_libm(
            numbers in prop::collection::vec(
                prop_oneof![
                    2 => 1.0..1100.0_f64,
                    1 => (0_u64..64).prop_map(|steps| f64::from_bits(1.0_f64.to_bits() + steps)),
                    1 => (1.0_f64.to_bits()..=f64::MAX.to_bits()).prop_map(f64::from_bits),
                ],
                0..40,
            ),
        ) {
            let naive: Vec<f64> = numbers.iter().map(|&number| logarithm(number)).collect();
            for path in Path::all() {
                let mut found = numbers.clone();
                logarithms_by(path, &mut found);
                prop_assert_eq!(bits(&found), bits(&naive), "{:?}", path);
            }
        }
    }
}
