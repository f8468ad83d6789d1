/**
 * e to the power of a number after FreeBSD's msun (e_exp.c), for numbers up to 0: the same bits in every
 * engine, where Math.exp may differ in the last one.
 */

const ln2High = 6.9314718036912381649e-1;
const ln2Low = 1.90821492927058770002e-10;
const [p1, p2, p3, p4, p5] = [
  ...[1.66666666666666019037e-1, -2.77777777770155933842e-3, 6.61375632143793436117e-5],
  ...[-1.6533902205465251539e-6, 4.13813679705723846039e-8],
] as [number, number, number, number, number];

/** A number times a power of two, rounded once. */
function scaled(value: number, power: number): number {
  // Of less than the least normal number the last step alone rounds.
  return power >= -1022 ? value * 2 ** power : value * 2 ** (power + 969) * 2 ** -969;
}

/** e^value. */
export function exponential(value: number): number {
  if (!(value <= 0)) throw new Error(`no power of ${value} here`);
  if (value < -745.1332191019411) return 0;
  if (value > -3.725293851175593e-9) return 1 + value;
  let power = 0;
  // The bounds of half and of one and a half times ln(2), as the high words of their bits are compared.
  if (value <= -0.3465735912322998046875) {
    power = value <= -1.0397205352783203125 ? Math.trunc(1.4426950408889634 * value - 0.5) : -1;
  }
  const high = value - power * ln2High;
  const low = power * ln2Low;
  const x = high - low;
  const xx = x * x;
  const c = x - xx * (p1 + xx * (p2 + xx * (p3 + xx * (p4 + xx * p5))));
  const y = 1 + ((x * c) / (2 - c) - low + high);
  return power === 0 ? y : scaled(y, power);
}
