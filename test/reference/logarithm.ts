/**
 * The natural logarithm after FreeBSD's msun (e_log.c), for finite numbers from 1 on: the same bits in every
 * engine, where Math.log may differ in the last one.
 */

const ln2High = 6.931471803691238e-1;
const ln2Low = 1.9082149292705877e-10;
const [l1, l2, l3, l4, l5, l6, l7] = [
  ...[6.66666666666673513e-1, 3.999999999940941908e-1, 2.857142874366239149e-1, 2.222219843214978396e-1],
  ...[1.818357216161805012e-1, 1.531383769920937332e-1, 1.479819860511658591e-1],
] as [number, number, number, number, number, number, number];

/** A number at least sqrt(1/2) and less than sqrt(2), and the power of two by which it is the one given. */
function reduced(value: number): [number, number] {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const high = bits.getUint32(0) + (0x3ff00000 - 0x3fe6a09e);
  bits.setUint32(0, (high & 0xfffff) + 0x3fe6a09e);
  return [bits.getFloat64(0), (high >>> 20) - 0x3ff];
}

/** ln(value). */
export function logarithm(value: number): number {
  if (!(value >= 1 && Number.isFinite(value))) throw new Error(`no logarithm of ${value} here`);
  if (value === 1) return 0;
  const [x, power] = reduced(value);
  const f = x - 1;
  const half = 0.5 * f * f;
  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const even = w * (l2 + w * (l4 + w * l6));
  const odd = z * (l1 + w * (l3 + w * (l5 + w * l7)));
  return s * (half + (odd + even)) + power * ln2Low - half + f + power * ln2High;
}
