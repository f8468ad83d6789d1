/**
 * Makes `dist/pages`: the files that pages load, ours and those of packages, and the guides of `docs` as HTML.
 * A server reads its pages there and nowhere else.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Marked } from 'marked';

const ownFolder = dirname(fileURLToPath(import.meta.url));
const root = join(ownFolder, '../..');

/** Files of packages, each by its path from the module that its package exports. */
const packageFiles = [
  ['sigma', 'sigma.min.js'],
  ['graphology', 'graphology.umd.min.js'],
  ['d3-dispatch', '../dist/d3-dispatch.min.js'],
  ['d3-quadtree', '../dist/d3-quadtree.min.js'],
  ['d3-timer', '../dist/d3-timer.min.js'],
  ['d3-force', '../dist/d3-force.min.js'],
];

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => escapes[character]);
const unescapeHtml = (text) =>
  Object.entries(escapes).reduceRight(
    (left, [character, entity]) => left.replaceAll(entity, character),
    text,
  );
const plain = (html) => unescapeHtml(html.replace(/<[^>]*>/g, ''));

/** A heading's anchor as GitHub makes it, so that links work in both places. */
const anchorOf = (heading) =>
  plain(heading)
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-');

/** A guide's name in addresses: the name of its file, without folder and ending. */
const nameOf = (path) => basename(path, '.md').toLowerCase();

/** The address here for a link of a guide; undefined if the server does not have its file. */
function target(href, guides) {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href;
  const [path, anchor] = href.split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (basename(path) === 'openapi.json') return '/openapi.json';
  if (basename(path) === 'door-openapi.json') return '/api/agent/openapi';
  const file = guides.find((guide) => basename(guide) === basename(path) && !path.startsWith('models/'));
  return file === undefined ? undefined : `/docs/guides/${nameOf(file)}${hash}`;
}

/** A guide as HTML, with its title, its headings and its words. */
function rendered(file, text, guides) {
  const headings = [];
  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens);
        const id = anchorOf(html);
        headings.push({ id, depth, text: plain(html) });
        return `<h${depth} id="${id}">${html}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens);
        const to = target(href, guides);
        return to === undefined ? html : `<a href="${escapeHtml(to)}">${html}</a>`;
      },
      image: ({ text: words }) => escapeHtml(words),
      html: ({ text: written }) => escapeHtml(written),
      code: ({ text: code }) => `<pre tabindex="0"><code>${escapeHtml(code)}</code></pre>\n`,
      table(token) {
        const cell = (tag, { tokens, align }) => {
          const side = align === 'right' ? ' class="number"' : '';
          const scope = tag === 'th' ? ' scope="col"' : '';
          return `<${tag}${scope}${side}>${this.parser.parseInline(tokens)}</${tag}>`;
        };
        // A column without a heading gets no header cell: its cells explain themselves.
        const head = token.header.map((each) => cell(each.text === '' ? 'td' : 'th', each)).join('');
        const rows = token.rows.map((row) => `<tr>${row.map((each) => cell('td', each)).join('')}</tr>`);
        const label = headings.at(-1)?.text ?? 'Table';
        return `<div class="wide" tabindex="0" role="group" aria-label="Table: ${escapeHtml(label)}"><table>
<thead><tr>${head}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>\n`;
      },
    },
  });
  const html = marked.parse(text);
  const words = plain(html).replace(/\s+/g, ' ');
  return { name: nameOf(file), title: headings[0]?.text ?? nameOf(file), headings, words, html };
}

/** Style sheets that begin with `base.css`. */
const based = new Set(['site.css', 'report.css']);

/** Makes `dist/pages`. */
function buildPages() {
  const folder = join(root, 'dist/pages');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const base = readFileSync(join(ownFolder, 'base.css'), 'utf8');
  for (const name of readdirSync(ownFolder)) {
    if (!/\.(?:css|js|svg)$/.test(name) || name === 'base.css') continue;
    if (based.has(name))
      writeFileSync(join(folder, name), base + readFileSync(join(ownFolder, name), 'utf8'));
    else copyFileSync(join(ownFolder, name), join(folder, name));
  }
  const { resolve } = createRequire(import.meta.url);
  for (const [module, file] of packageFiles) {
    copyFileSync(join(dirname(resolve(module)), file), join(folder, basename(file)));
  }
  const files = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
  const guides = ['README.md', ...files.map((name) => `docs/${name}`)];
  const made = guides.map((file) => rendered(file, readFileSync(join(root, file), 'utf8'), guides));
  writeFileSync(join(folder, 'guides.json'), JSON.stringify(made));
}

buildPages();
