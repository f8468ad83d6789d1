/** The plot of tuning: nDCG@10 by the share of BM25, a line for each way of fusing, as SVG 1.1. */
import { plotColours, plotFrame, plotLegend, plotLine, plotPage, plotText } from '../pages/plot.js';
import type { Curve, Setting, Tuned } from '../search/tune.js';

const height = 300;

/** Start and end of the axis: multiples of a twentieth around every value. */
function boundsOf(values: readonly number[]): { readonly least: number; readonly most: number } {
  const least = Math.floor(20 * Math.min(...values)) / 20;
  return { least, most: Math.max(Math.ceil(20 * Math.max(...values)) / 20, least + 0.05) };
}

/** Draws the tried settings. `name`: the collection's name. */
export function tunePlot(
  name: string,
  about: string,
  { usual }: Tuned,
  { curves, best }: { readonly curves: readonly Curve[]; readonly best: Setting },
): string {
  const points = curves.flatMap((curve) => curve.points);
  const { least, most } = boundsOf([usual.mean, ...points.map(({ mean }) => mean)]);
  const { left, right, top, width } = plotFrame;
  const end = width - right;
  const bottom = top + height;
  const x = (share: number): number => left + share * (end - left);
  const y = (value: number): number => bottom - ((value - least) / (most - least)) * height;
  const steps = Array.from({ length: Math.round((most - least) * 20) + 1 }, (_, at) => least + at / 20);
  const grid = steps.flatMap((value) => [
    plotLine(left, y(value), end, y(value), 'class="grid"'),
    plotText(left - 12, y(value) + 4, value.toFixed(2), 'text-anchor="end" class="quiet"'),
  ]);
  const shares = [0, 0.25, 0.5, 0.75, 1].map((share) =>
    plotText(x(share), bottom + 18, String(share), 'text-anchor="middle" class="quiet"'),
  );
  const lines = curves.flatMap((curve, at) => {
    const colour = plotColours[at % plotColours.length] ?? '';
    return curve.points.slice(1).map(({ bm25, mean }, place) => {
      const before = curve.points[place] ?? { bm25, mean };
      return plotLine(
        x(before.bm25),
        y(before.mean),
        x(bm25),
        y(mean),
        `stroke="${colour}" stroke-width="2"`,
      );
    });
  });
  const level = plotLine(left, y(usual.mean), end, y(usual.mean), 'class="axis" stroke-dasharray="4 4"');
  const today = plotText(end + 14, y(usual.mean) + 4, `says nothing ${usual.mean.toFixed(3)}`);
  const { analyzer, k1, b } = best;
  const lexical = `analyzer ${analyzer}, k1 ${k1}, b ${b}`;
  const foot = `nDCG@10 by the weight of BM25 (the rest is the dense list’s), ${lexical}`;
  return plotPage(name, about, bottom + 56, [
    ...plotLegend(curves.map((curve) => curve.name)),
    ...grid,
    ...shares,
    ...lines,
    level,
    today,
    plotText(left, bottom + 40, foot, 'class="quiet"'),
  ]);
}
