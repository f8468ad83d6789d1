/** The plots of the benchmarks (SVG 1.1). */
import {
  plotColours,
  plotFrame,
  plotLegend,
  plotLine,
  plotPage,
  plotSpread,
  plotText,
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
    plotFrame.left +
    ((Math.log10(value) - low) / Math.max(1, high - low)) *
      (plotFrame.width - plotFrame.left - plotFrame.right);
  const rowHeight = 18 * Math.max(2, series.length * 0.75);
  const bottom = plotFrame.top + rows.length * rowHeight;
  const decades = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  const grid = decades.flatMap((value) => [
    plotLine(x(value), plotFrame.top, x(value), bottom, 'class="grid"'),
    plotText(x(value), bottom + 18, figure(value), 'text-anchor="middle" class="quiet"'),
  ]);
  const dots = rows.flatMap((row, at) => {
    const middle = plotFrame.top + (at + 0.5) * rowHeight;
    const marks = row.values.flatMap((value, place) => {
      if (value === undefined) return [];
      const y = middle + (place - (series.length - 1) / 2) * 11;
      return plotSpread([x(value.min), x(value.median), x(value.max)], y, place);
    });
    const label = plotText(plotFrame.left - 12, middle + 4, row.label, 'text-anchor="end"');
    return [label, ...marks, plotText(plotFrame.width - plotFrame.right + 14, middle + 4, row.note)];
  });
  const foot = plotText(plotFrame.left, bottom + 40, axis, 'class="quiet"');
  const base = plotLine(plotFrame.left, bottom, plotFrame.width - plotFrame.right, bottom, 'class="axis"');
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
  const [left, right, bottom] = [80, plotFrame.width - 40, height - 60];
  const most = (values: number[]): number => {
    const step = 10 ** Math.floor(Math.log10(Math.max(...values, 1)));
    return Math.ceil(Math.max(...values, 1) / step) * step;
  };
  const [xMost, yMost] = [most(points.map(([x]) => x)), most(points.map(([, y]) => y))];
  const x = (value: number): number => left + (value / xMost) * (right - left);
  const y = (value: number): number => bottom - (value / yMost) * (bottom - plotFrame.top);
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
    plotText(left, plotFrame.top - 14, yAxis, 'class="quiet"'),
    plotText((left + right) / 2, bottom + 44, xAxis, 'text-anchor="middle" class="quiet"'),
  ]);
}

/** A line of a plot of several. */
export interface NamedLine {
  readonly name: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface LinesPlot extends Omit<LinePlot, 'points'> {
  readonly series: readonly NamedLine[];
}

/** Where a value lies between powers of ten, and these powers. */
function logarithmic(values: readonly number[], from: number, to: number) {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...positive)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive))));
  return {
    at: (value: number): number => from + ((Math.log10(value) - low) / (high - low)) * (to - from),
    decades: Array.from({ length: high - low + 1 }, (_, step) => 10 ** (low + step)),
  };
}

/** Lines over two logarithmic axes, each named at its end. */
export function linesPlot({ title, subtitle, xAxis, yAxis, series }: LinesPlot): string {
  const height = 420;
  const [left, right, bottom] = [80, plotFrame.width - 150, height - 60];
  const points = series.flatMap((each) => each.points);
  const x = logarithmic(
    points.map(([across]) => across),
    left,
    right,
  );
  const y = logarithmic(
    points.map(([, up]) => up),
    bottom,
    plotFrame.top,
  );
  const grid = [
    ...y.decades.flatMap((value) => [
      plotLine(left, y.at(value), right, y.at(value), 'class="grid"'),
      plotText(left - 10, y.at(value) + 4, figure(value), 'text-anchor="end" class="quiet"'),
    ]),
    ...x.decades.map((value) =>
      plotText(x.at(value), bottom + 20, figure(value), 'text-anchor="middle" class="quiet"'),
    ),
  ];
  const lines = series.flatMap(({ name, points: own }, place) => {
    const colour = plotColours[place % plotColours.length] ?? '';
    const path = own.map(([a, b]) => `${x.at(a).toFixed(1)},${y.at(b).toFixed(1)}`).join(' ');
    const [across, up] = own.at(-1) ?? [1, 1];
    const label = plotText(x.at(across) + 8, y.at(up) + 4, name, `style="fill:${colour}"`);
    return [`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`, label];
  });
  return plotPage(title, subtitle, height, [
    ...grid,
    plotLine(left, bottom, right, bottom, 'class="axis"'),
    ...lines,
    plotText(left, plotFrame.top - 14, yAxis, 'class="quiet"'),
    plotText((left + right) / 2, bottom + 44, xAxis, 'text-anchor="middle" class="quiet"'),
  ]);
}
