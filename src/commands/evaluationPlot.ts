/** The plot of an evaluation: nDCG@10 of each ranking with its interval, as SVG 1.1. */
import { plotFrame, plotLegend, plotLine, plotPage, plotSpread, plotText } from '../pages/plot.js';
import { legs } from '../search/evaluate.js';
import type { Evaluation } from './evaluation.js';

const rowHeight = 30;

/** End of the axis: the first tenth above every interval. */
function end({ whole, request }: Evaluation): number {
  const highs = legs.flatMap((leg) => [whole[leg].ndcg_at_10.high, request[leg].ndcg_at_10.high]);
  return Math.min(1, Math.ceil(Math.max(...highs, 0.1) * 10) / 10);
}

/** Draws an evaluation. `name`: the collection's name. */
export function evaluationPlot(name: string, evaluation: Evaluation): string {
  const { whole, request, model, candidates, docs, judged } = evaluation;
  const most = end(evaluation);
  const x = (value: number): number =>
    plotFrame.left + (value / most) * (plotFrame.width - plotFrame.left - plotFrame.right);
  const bottom = plotFrame.top + legs.length * rowHeight;
  const ticks = Array.from({ length: Math.round(most * 10) + 1 }, (_, at) => at / 10);
  const grid = ticks.flatMap((value) => [
    plotLine(x(value), plotFrame.top, x(value), bottom, 'class="grid"'),
    plotText(x(value), bottom + 18, value.toFixed(1), 'text-anchor="middle" class="quiet"'),
  ]);
  const rows = legs.flatMap((leg, at) => {
    const middle = plotFrame.top + (at + 0.5) * rowHeight;
    const values = [whole, request].map((scope) => scope[leg].ndcg_at_10);
    const marks = values.flatMap(({ low, mean, high }, place) =>
      plotSpread([x(low), x(mean), x(high)], middle + (place - 0.5) * 11, place),
    );
    const note = values.map(({ mean }) => mean.toFixed(3)).join(' · ');
    const label = plotText(plotFrame.left - 12, middle + 4, leg, 'text-anchor="end"');
    return [label, ...marks, plotText(plotFrame.width - plotFrame.right + 14, middle + 4, note)];
  });
  const base = plotLine(plotFrame.left, bottom, plotFrame.width - plotFrame.right, bottom, 'class="axis"');
  const foot = plotText(plotFrame.left, bottom + 40, 'nDCG@10, 95 % bootstrap intervals', 'class="quiet"');
  const subtitle = `${docs} docs, ${judged} judged queries, model ${model}`;
  const series = ['whole collection', `${candidates} candidates as the request`];
  return plotPage(name, subtitle, bottom + 56, [...plotLegend(series), ...grid, base, ...rows, foot]);
}
