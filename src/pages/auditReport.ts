/**
 * The report of an audit as one self-contained page (HTML Living Standard): no script, no external resources,
 * all text from records escaped, and a content policy that enforces this (CSP Level 3).
 */
import type { AuditExample, AuditIssue, AuditResponse, AuditRoiLine, AuditShare } from '../contract/audit.js';
import { stacks } from '../text/stacks.js';
import { grouped, percent } from '../text/audit.js';
import { differences } from './differences.js';
import { builtFile, escapeHtml } from './page.js';

const style = builtFile('report.css').toString();

/** The client named on the report, and its time. */
export interface ReportParts {
  /** `""`: no one is named. */
  readonly company: string;
  /** Time of the audit (ms since 1970, UTC). */
  readonly wallMs: number;
}

/** Most examples of an issue on the page; an answer may have more. */
const SHOWN = 3;

/** The numbers of a request in words, for readers who do not see the request. */
const numbersInWords: readonly (readonly [name: string, words: string])[] = [
  ['corpus_records_total', 'the number of all records'],
  ['monthly_queries', 'the number of queries a month'],
  ['months_running', 'the number of months'],
  ['aov_usd', 'the order value'],
  ['ticket_cost_usd', 'the cost of a ticket'],
];

/** A sentence of ours as HTML: request members become words, and numbers stay with their units. */
function sentenceHtml(sentence: string): string {
  const words = numbersInWords.reduce((left, [name, said]) => left.replaceAll(name, said), sentence);
  return escapeHtml(words).replaceAll(/(\d) (%|US dollars|records\b|queries\b)/g, '$1&nbsp;$2');
}

/** Length of a bar (units). */
const LENGTH = 400;
const HEIGHT = 18;

/** Possible ends of the bars' scale. */
const scales = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

function scaleOf(shares: readonly AuditShare[]): number {
  const highest = Math.max(0, ...shares.map(({ high }) => high));
  return scales.find((end) => highest <= end) ?? 1;
}

/** A share as a bar with its interval, up to the share `end`. */
function bar({ share, low, high }: AuditShare, end: number): string {
  const at = (value: number): string => ((LENGTH * Math.min(value, end)) / end).toFixed(1);
  const [left, right, middle, foot] = [at(low), at(high), HEIGHT / 2, HEIGHT - 4];
  const words = `${percent(share)}, 95 % interval ${percent(low)} to ${percent(high)}`;
  return (
    `<svg viewBox="0 0 ${LENGTH} ${HEIGHT}" height="${HEIGHT}" preserveAspectRatio="none" role="img" ` +
    `aria-label="${words}"><rect class="track" width="${LENGTH}" height="${HEIGHT}"/>` +
    `<rect class="share" width="${at(share)}" height="${HEIGHT}"/>` +
    `<path class="interval" d="M${left} 4V${foot}M${left} ${middle}H${right}M${right} ` +
    `4V${foot}"/></svg>`
  );
}

/**
 * Characters that are invisible, or that would change the direction of the text: their code points are shown.
 */
const unseen = new RegExp(
  [
    String.raw`(?<!\p{Extended_Pictographic}\uFE0F?)\u200D`,
    String.raw`[\p{Cc}\u00AD\u034F\u061C\u200B\u200C\u200E\u200F]`,
    String.raw`[\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0001}]`,
  ].join('|'),
  'gu',
);

/** Text of a record as HTML. */
function visible(text: string): string {
  const plain = text.replaceAll(/[\t\n]/g, ' ');
  let out = '';
  let at = 0;
  for (const found of plain.matchAll(unseen)) {
    const code = (found[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    out += `${escapeHtml(plain.slice(at, found.index))}<span class="code">U+${code}</span>`;
    at = found.index + found[0].length;
  }
  return out + escapeHtml(plain.slice(at));
}

/** Two texts with their differences marked. */
function marked({ before, after }: AuditExample): { before: string; after: string } {
  const parts = differences(before, after);
  const shown = (side: 'before' | 'after'): string =>
    parts
      .map((part) => {
        const text = visible(part[side]);
        return part.before === part.after || text === '' ? text : `<mark>${text}</mark>`;
      })
      .join('');
  return { before: shown('before'), after: shown('after') };
}

/** Labels for the members beside the changed text. */
const afterLabels: Readonly<Record<string, string>> = {
  unsegmented_cjk: 'by bigrams',
  over_long: 'is read',
  emoji_and_symbols: 'augmented',
};

function exampleOf(example: AuditExample, issue: string): string {
  const row = (term: string, text: string): string =>
    `<div><dt>${term}</dt><dd dir="auto">${text === '' ? '(nothing)' : text}</dd></div>`;
  if (example.before === example.after) return `<dl>${row('record', visible(example.before))}</dl>`;
  const isCut = issue === 'unsegmented_cjk' || issue === 'over_long';
  const shown = isCut ? { before: visible(example.before), after: visible(example.after) } : marked(example);
  return `<dl>${row('before', shown.before)}${row(afterLabels[issue] ?? 'normalized', shown.after)}</dl>`;
}

function issueRow(issue: AuditIssue, end: number, things: string): string {
  const { title, count, share, low, high } = issue;
  return `<tr><th scope="row">${escapeHtml(title)}</th>
<td class="bar">${bar(issue, end)}</td>
<td class="number">${sentenceHtml(percent(share))}<span class="muted">${sentenceHtml(
    `${percent(low)} – ${percent(high)}`,
  )}</span></td>
<td class="number count" data-things="${thingsOf(count, things)}">${grouped(count)}</td></tr>`;
}

function issueTable(found: readonly AuditIssue[], things: string): string {
  const end = scaleOf(found);
  return `<table class="bars">
<thead><tr><th scope="col">Issue</th>
<th scope="col"><span class="axis"><span>0</span><span>${100 * end}&nbsp;% of the ${things}</span></span></th>
<th scope="col" class="number">Share, 95 % interval</th><th scope="col" class="number">Count</th></tr></thead>
<tbody>
${found.map((issue) => issueRow(issue, end, things)).join('\n')}
</tbody></table>`;
}

function issueDetail(issue: AuditIssue, engine: string): string {
  const { title, consequence, source, examples } = issue;
  const link =
    source?.startsWith('https:') === true
      ? `\n<a href="${escapeHtml(source)}" rel="noreferrer">${new URL(source).hostname}</a>`
      : source === null
        ? ''
        : ` (${escapeHtml(source)})`;
  return `<h3>${escapeHtml(title)}</h3>
<p>${escapeHtml(engine)}: ${escapeHtml(consequence)}${link}</p>
${examples
  .slice(0, SHOWN)
  .map((example) => exampleOf(example, issue.issue))
  .join('\n')}`;
}

/** A number of things: `1 record`. `things` is in the plural. */
function counted(count: number, things: string): string {
  return `${grouped(count)} ${thingsOf(count, things)}`;
}

function thingsOf(count: number, things: string): string {
  if (count !== 1) return things;
  return things.endsWith('ies') ? `${things.slice(0, -3)}y` : things.slice(0, -1);
}

/** The issues that were found, the most frequent first. */
function foundIn({ issues }: AuditResponse): AuditIssue[] {
  return issues.filter(({ count }) => count > 0).sort((left, right) => right.share - left.share);
}

function figures(report: AuditResponse): string {
  const found = foundIn(report);
  const rest = report.issues.filter(({ count }) => count === 0).map(({ title }) => title);
  const none = rest.length === 0 ? '' : `<p class="muted">Not found: ${rest.map(escapeHtml).join(', ')}.</p>`;
  const table =
    found.length === 0 ? '<p>None of the issues was found.</p>' : issueTable(found, report.surface);
  return `<h2>What was found</h2>\n${table}\n${none}`;
}

function details(report: AuditResponse): string {
  const found = foundIn(report);
  if (found.length === 0) return '';
  const engine = stacks.find(({ stack }) => stack === report.stack);
  const name = engine?.name ?? report.stack;
  return `<h2>What it does to search, with examples</h2>
<p class="muted">Default analyzer of ${escapeHtml(name)}: ${escapeHtml(engine?.analyzer ?? '')}</p>
${found.map((issue) => issueDetail(issue, name)).join('\n')}`;
}

function roiRow({ line, unit, low, high, formula, reason }: AuditRoiLine): string {
  const money = unit.startsWith('US dollars');
  const amount = (value: number): string => `${money ? '$' : ''}${grouped(value)}`;
  const range =
    low === null || high === null ? `not known: ${reason ?? ''}` : `${amount(low)} – ${amount(high)}`;
  return `<tr><th scope="row">${sentenceHtml(line)}<span class="muted">${sentenceHtml(formula)}</span></th>
<td class="number">${sentenceHtml(range)}<span class="muted">${escapeHtml(unit)}</span></td></tr>`;
}

function worth({ roi }: AuditResponse): string {
  if (roi === null) return '';
  return `<h2>What it is worth, in your numbers</h2>
<table class="roi">
<thead><tr><th scope="col">Line and formula</th><th scope="col" class="number">Low – high</th></tr></thead>
<tbody>
${roi.map(roiRow).join('\n')}
</tbody></table>`;
}

function list(kind: 'ul' | 'ol', items: readonly string[]): string {
  return `<${kind}>${items.map((item) => `<li>${sentenceHtml(item)}</li>`).join('\n')}</${kind}>`;
}

function head(report: AuditResponse, { company, wallMs }: ReportParts): string {
  const { headline, records, surface, vertical } = report;
  const engine = stacks.find(({ stack }) => stack === report.stack)?.name ?? report.stack;
  const name = company.trim() === '' ? 'Search audit' : `Search audit for ${company.trim()}`;
  const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }).format(wallMs);
  const end = scaleOf([headline]);
  const facts = [
    `${day} (UTC)`,
    counted(records, surface),
    engine,
    ...(vertical === 'custom' ? [] : [`vertical: ${vertical.replaceAll('_', ' ')}`]),
  ];
  return `<h1>${visible(name)}</h1>
<ul class="facts muted">${facts.map((fact) => `<li>${escapeHtml(fact)}</li>`).join('\n')}</ul>
<section class="headline" aria-label="Headline">
<p class="figure">${sentenceHtml(percent(headline.share))}</p>
<p>${sentenceHtml(headline.sentence)}</p>
${bar(headline, end)}
<p class="axis muted"><span>0</span><span>${100 * end}&nbsp;%</span></p>
</section>`;
}

/** The page of a report. */
export function reportPage(report: AuditResponse, parts: ReportParts): string {
  const { unicode, cldr } = report.data_versions;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Search audit</title>
<style>
${style}</style>
</head>
<body>
<main>
<article class="sheet">
${head(report, parts)}
${figures(report)}
${worth(report)}
<h2>Next steps</h2>
${list('ol', report.next_steps)}
${details(report)}
<h2>Assumptions</h2>
${list('ul', report.assumptions)}
<p class="muted">Made by Fusegate with Unicode ${escapeHtml(unicode)} and CLDR ${escapeHtml(cldr)}. Addresses,
numbers of seven digits and more, and what looks like a secret are masked in the examples; names are not.
Nothing of the ${report.surface} was stored.</p>
</article>
</main>
</body>
</html>
`;
}
