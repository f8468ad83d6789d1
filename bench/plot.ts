/** Plots as SVG 1.1 files of their own: for light and dark ground, no script, no font but the reader's. */
import { figure } from './statistics.js';
import type { Spread } from './statistics.js';

const WIDTH = 900;
const LEFT = 210;
const RIGHT = 150;
const TOP = 86;
const COLOURS = ['#2f6feb', '#d9622b', '#3a9d5d', '#8a5cc2'];

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; } .quiet { fill: #59636e; font-size: 12px; }
  .ground { fill: #ffffff; } .grid { stroke: #d1d9e0; } .axis { stroke: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .quiet { fill: #9198a1; }
    .ground { fill: #0d1117; } .grid { stroke: #3d444d; } .axis { stroke: #9198a1; }
  }`;

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escape(content)}</text>`;
}

function line(x1: number, y1: number, x2: number, y2: number, attributes: string): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map((value) => value.toFixed(1));
  return `<line x1="${a ?? ''}" y1="${b ?? ''}" x2="${c ?? ''}" y2="${d ?? ''}" ${attributes}/>`;
}

function page(title: string, subtitle: string, height: number, parts: readonly string[]): string {
  const size = `width="${WIDTH}" height="${height}"`;
  const label = `role="img" aria-label="${escape(title)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" ${size} ${label}>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}"/>`,
    text(20, 30, title, 'class="title"'),
    text(20, 50, subtitle, 'class="quiet"'),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

function legend(series: readonly string[]): string[] {
  let x = LEFT;
  return series.flatMap((name, at) => {
    const here = x;
    x += 34 + 7.5 * name.length;
    const dot = `<circle cx="${here}" cy="${TOP - 14}" r="5" fill="${COLOURS[at % COLOURS.length] ?? ''}"/>`;
    return [dot, text(here + 11, TOP - 10, name)];
  });
}

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
    LEFT + ((Math.log10(value) - low) / Math.max(1, high - low)) * (WIDTH - LEFT - RIGHT);
  const rowHeight = 18 * Math.max(2, series.length * 0.75);
  const bottom = TOP + rows.length * rowHeight;
  const decades = Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
  const grid = decades.flatMap((value) => [
    line(x(value), TOP, x(value), bottom, 'class="grid"'),
    text(x(value), bottom + 18, figure(value), 'text-anchor="middle" class="quiet"'),
  ]);
  const dots = rows.flatMap((row, at) => {
    const middle = TOP + (at + 0.5) * rowHeight;
    const marks = row.values.flatMap((value, place) => {
      if (value === undefined) return [];
      const y = middle + (place - (series.length - 1) / 2) * 11;
      const colour = COLOURS[place % COLOURS.length] ?? '';
      return [
        line(
          x(value.min),
          y,
          x(value.max),
          y,
          `stroke="${colour}" stroke-width="2.5" stroke-linecap="round"`,
        ),
        `<circle cx="${x(value.median).toFixed(1)}" cy="${y.toFixed(1)}" r="5" fill="${colour}"/>`,
      ];
    });
    const label = text(LEFT - 12, middle + 4, row.label, 'text-anchor="end"');
    return [label, ...marks, text(WIDTH - RIGHT + 14, middle + 4, row.note)];
  });
  const foot = text(LEFT, bottom + 40, axis, 'class="quiet"');
  const base = line(LEFT, bottom, WIDTH - RIGHT, bottom, 'class="axis"');
  return page(title, subtitle, bottom + 56, [...legend(series), ...grid, base, ...dots, foot]);
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
  const [left, right, bottom] = [80, WIDTH - 40, height - 60];
  const most = (values: number[]): number => {
    const step = 10 ** Math.floor(Math.log10(Math.max(...values, 1)));
    return Math.ceil(Math.max(...values, 1) / step) * step;
  };
  const [xMost, yMost] = [most(points.map(([x]) => x)), most(points.map(([, y]) => y))];
  const x = (value: number): number => left + (value / xMost) * (right - left);
  const y = (value: number): number => bottom - (value / yMost) * (bottom - TOP);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const grid = ticks.flatMap((share) => [
    line(left, y(share * yMost), right, y(share * yMost), 'class="grid"'),
    text(left - 10, y(share * yMost) + 4, figure(share * yMost), 'text-anchor="end" class="quiet"'),
    text(x(share * xMost), bottom + 20, figure(share * xMost), 'text-anchor="middle" class="quiet"'),
  ]);
  const path = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(' ');
  return page(title, subtitle, height, [
    ...grid,
    line(left, bottom, right, bottom, 'class="axis"'),
    `<polyline points="${path}" fill="none" stroke="${COLOURS[0] ?? ''}" stroke-width="2"/>`,
    text(left, TOP - 14, yAxis, 'class="quiet"'),
    text((left + right) / 2, bottom + 44, xAxis, 'text-anchor="middle" class="quiet"'),
  ]);
}
