/** An order drawn from a number, so that a failing order can be run again. */
import { generator } from '../store/powerCut.js';

/** The elements in an order that the seed decides (Fisher and Yates). */
export function shuffled<Each>(list: readonly Each[], seed: number): Each[] {
  const choose = generator(seed);
  const all = [...list];
  for (let end = all.length - 1; end > 0; end -= 1) {
    const other = choose(end + 1);
    [all[end], all[other]] = [all[other] as Each, all[end] as Each];
  }
  return all;
}
