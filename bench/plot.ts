/** The plots of the benchmarks (SVG 1.1). */
import {
  plotColours,
  plotLeft,
  plotLegend,
  plotLine,
  plotPage,
  plotRight,
  plotSpread,
  plotText,
  plotTop,
  plotWidth,
} from '../src/pages/plot.js';
import { figure } from './statistics.js';
import type { Spread } from './statistics.js';

/** One row of a dot plot: a value for each series, `undefined` where it was not measured. */
export interface Row {
  readonly label: string;
  readonly values: readonly (Spread | undefined)[];
  /** A remark at the row's right end. */
  readonly note: string;
}

export interface DotPlot {
  readonly title: string;
  readonly subtitle: string;
  /** What the logarithmic axis measures, with its unit. */
  readonly axis: string;
  readonly series: readonly string[];
  readonly rows: readonly Row[];
}

/** Medians as dots, least to greatest as lines, on a logarithmic axis. */
export function dotPlot({ title, subtitle, axis, series, rows }: DotPlot): string {
  const spreads = rows.flatMap((row) => row.values).filter((value) => value !== undefined);
  const low = Math.floor(Math.log10(Math.min(...spreads.map((value) => value.min))));
  const high = Math.ceil(Math.log10(Math.max(...spreads.map((value) => value.max))));
  const x = (value: number): number =>
    plotLeft + ((Math.log10(value) - low) / Math.max(1, high - low)) * (plotWidth - plotLeft - plotRight);
  const rowHeight = 18 * Math.max(2, series.length * 0.75);
  const bottom = plotTop + rows.length * rowHeight;
  const decades = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  const grid = decades.flatMap((value) => [
    plotLine(x(value), plotTop, x(value), bottom, 'class="grid"'),
    plotText(x(value), bottom + 18, figure(value), 'text-anchor="middle" class="quiet"'),
  ]);
  const dots = rows.flatMap((row, at) => {
    const middle = plotTop + (at + 0.5) * rowHeight;
    const marks = row.values.flatMap((value, place) => {
      if (value === undefined) return [];
      const y = middle + (place - (series.length - 1) / 2) * 11;
      return plotSpread([x(value.min), x(value.median), x(value.max)], y, place);
    });
    const label = plotText(plotLeft - 12, middle + 4, row.label, 'text-anchor="end"');
    return [label, ...marks, plotText(plotWidth - plotRight + 14, middle + 4, row.note)];
  });
  const foot = plotText(plotLeft, bottom + 40, axis, 'class="quiet"');
  const base = plotLine(plotLeft, bottom, plotWidth - plotRight, bottom, 'class="axis"');
  return plotPage(title, subtitle, bottom + 56, [...plotLegend(series), ...grid, base, ...dots, foot]);
}

export interface LinePlot {
  readonly title: string;
  readonly subtitle: string;
  readonly xAxis: string;
  readonly yAxis: string;
  readonly points: readonly (readonly [number, number])[];
}

/** One line over two linear axes, the vertical one from 0. */
export function linePlot({ title, subtitle, xAxis, yAxis, points }: LinePlot): string {
  const height = 380;
  const [left, right, bottom] = [80, plotWidth - 40, height - 60];
  const most = (values: number[]): number => {
    const step = 10 ** Math.floor(Math.log10(Math.max(...values, 1)));
    return Math.ceil(Math.max(...values, 1) / step) * step;
  };
  const [xMost, yMost] = [most(points.map(([x]) => x)), most(points.map(([, y]) => y))];
  const x = (value: number): number => left + (value / xMost) * (right - left);
  const y = (value: number): number => bottom - (value / yMost) * (bottom - plotTop);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const grid = ticks.flatMap((share) => [
    plotLine(left, y(share * yMost), right, y(share * yMost), 'class="grid"'),
    plotText(left - 10, y(share * yMost) + 4, figure(share * yMost), 'text-anchor="end" class="quiet"'),
    plotText(x(share * xMost), bottom + 20, figure(share * xMost), 'text-anchor="middle" class="quiet"'),
  ]);
  const path = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ');
  return plotPage(title, subtitle, height, [
    ...grid,
    plotLine(left, bottom, right, bottom, 'class="axis"'),
    `<polyline points="${path}" fill="none" stroke="${plotColours[0]}" stroke-width="2"/>`,
    plotText(left, plotTop - 14, yAxis, 'class="quiet"'),
    plotText((left + right) / 2, bottom + 44, xAxis, 'text-anchor="middle" class="quiet"'),
  ]);
}
