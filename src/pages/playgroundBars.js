/** The parts of fused scores as stacked bars: SVG beside the numbers in words. */

const svgNamespace = 'http://www.w3.org/2000/svg';

function svg(tag, attributes) {
  const element = document.createElementNS(svgNamespace, tag);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
  return element;
}

/** The range of all results' scores: negative parts extend to the left of zero. */
export function rangeOf(results) {
  const parts = results.map(({ explain: { bm25_part, dense_part } }) => [bm25_part, dense_part]);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const low = Math.min(0, ...parts.map((values) => sum(values.filter((value) => value < 0))));
  const high = Math.max(0, ...parts.map((values) => sum(values.filter((value) => value > 0))));
  return { low, high: high > low ? high : low + 1 };
}

/** One result's bar on the common scale. Screen readers skip it, as its numbers stand beside it. */
export function bar({ explain: { bm25_part: bm25, dense_part: dense } }, { low, high }) {
  const x = (value) => ((value - low) / (high - low)) * 100;
  const drawing = svg('svg', { class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none' });
  drawing.setAttribute('aria-hidden', 'true');
  drawing.append(svg('rect', { class: 'ground', width: 100, height: 8 }));
  let [up, down] = [0, 0];
  for (const [name, part] of [
    ['bm25', bm25],
    ['dense', dense],
  ]) {
    const [from, to] = part < 0 ? [down + part, down] : [up, up + part];
    if (part < 0) down = from;
    else up = to;
    drawing.append(svg('rect', { class: name, x: x(from), width: x(to) - x(from), height: 8 }));
  }
  if (low < 0) drawing.append(svg('rect', { class: 'zero', x: x(0) - 0.2, width: 0.4, height: 8 }));
  return drawing;
}
