/** Plots as standalone SVG 1.1 files: for light and dark backgrounds, no script, the reader's own font. */
import { escapeHtml } from './page.js';

/** Width of a plot, and its margins. */
export const plotFrame = { width: 900, left: 210, right: 150, top: 86 } as const;

/** Colours that are distinct on either background. */
export const plotColours = ['#2f6feb', '#d9622b', '#3a9d5d', '#8a5cc2', '#b08800'] as const;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; } .quiet { fill: #59636e; font-size: 12px; }
  .ground { fill: #ffffff; } .grid { stroke: #d1d9e0; } .axis { stroke: #59636e; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .quiet { fill: #9198a1; }
    .ground { fill: #0d1117; } .grid { stroke: #3d444d; } .axis { stroke: #9198a1; }
  }`;

/** A text at a point. */
export function plotText(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${escapeHtml(content)}</text>`;
}

/** A line between two points. */
export function plotLine(x1: number, y1: number, x2: number, y2: number, attributes: string): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map((value) => value.toFixed(1));
  return `<line x1="${a ?? ''}" y1="${b ?? ''}" x2="${c ?? ''}" y2="${d ?? ''}" ${attributes}/>`;
}

/** The complete file. */
export function plotPage(title: string, subtitle: string, height: number, parts: readonly string[]): string {
  const size = `width="${plotFrame.width}" height="${height}"`;
  const label = `role="img" aria-label="${escapeHtml(title)}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${plotFrame.width} ${height}" ${size} ${label}>`,
    `<style>${style}</style>`,
    `<rect class="ground" width="${plotFrame.width}" height="${height}"/>`,
    plotText(20, 30, title, 'class="title"'),
    plotText(20, 50, subtitle, 'class="quiet"'),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** The names of series next to their colours. */
export function plotLegend(series: readonly string[]): string[] {
  let x = plotFrame.left;
  return series.flatMap((name, at) => {
    const here = x;
    x += 34 + 7.5 * name.length;
    const fill = plotColours[at % plotColours.length] ?? '';
    const dot = `<circle cx="${here}" cy="${plotFrame.top - 14}" r="5" fill="${fill}"/>`;
    return [dot, plotText(here + 11, plotFrame.top - 10, name)];
  });
}

/** A value as a dot, with its interval as a line. */
export function plotSpread(
  xs: readonly [low: number, middle: number, high: number],
  y: number,
  at: number,
): string[] {
  const colour = plotColours[at % plotColours.length] ?? '';
  const [low, middle, high] = xs;
  return [
    plotLine(low, y, high, y, `stroke="${colour}" stroke-width="2.5" stroke-linecap="round"`),
    `<circle cx="${middle.toFixed(1)}" cy="${y.toFixed(1)}" r="5" fill="${colour}"/>`,
  ];
}
