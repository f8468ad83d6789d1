/** The sentences of texts as they are: of Markdown (CommonMark), of pages, and of answers. */

/** Sentences of a paragraph: what ends in a full stop, a question mark or a colon before a capital. */
function sentencesIn(paragraph: string): string[] {
  const text = paragraph.replaceAll(/\s+/g, ' ').trim();
  return text === '' ? [] : text.split(/(?<=[.?!:]) (?=\*{0,2}["“‘`]?[A-Z])/);
}

/** Sentences of a Markdown text; code, headings and rules of tables left out, a row of a table is one. */
export function sentencesOfMarkdown(text: string): string[] {
  const prose = text.replaceAll(/^```[^]*?^```$/gm, '\n').replaceAll(/^#.*$/gm, '\n');
  return prose.split(/\n\s*\n/).flatMap((block) => {
    if (!block.trimStart().startsWith('|')) return sentencesIn(block);
    const rows = block.trim().split('\n');
    return rows.filter((row) => !/^\|[\s|:-]*\|$/.test(row)).map((row) => row.trim());
  });
}

const entities: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&nbsp;': ' ',
};

/** Sentences of a page's main part; scripts, styles, code and values that only fill it are left out. */
export function sentencesOfPage(html: string): string[] {
  const main = /<main[^>]*>([^]*)<\/main>/.exec(html)?.[1] ?? html;
  const hidden = /<(script|style|pre|textarea|svg|select)\b[^]*?<\/\1>/g;
  const values = /<(\w+) class="(?:value|mono)[^"]*"[^]*?<\/\1>/g;
  const blocks = /<\/?(?:p|h\d|li|ul|ol|label|section|form|fieldset|legend|div|button|br|td|th|tr)\b[^>]*>/g;
  return main
    .replaceAll(hidden, '\n\n')
    .replaceAll(values, '#')
    .replaceAll(blocks, '\n\n')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&\w+;|&#39;/g, (entity) => entities[entity] ?? entity)
    .split(/\n\s*\n/)
    .flatMap(sentencesIn)
    .map(withoutFigures);
}

/** Every sentence in a JSON value: texts of more than two words, wherever they stand. */
export function sentencesOfJson(value: unknown): string[] {
  if (typeof value === 'string') {
    return value.split(' ').length < 3 ? [] : sentencesIn(value).map(withoutFigures);
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(sentencesOfJson);
}

/** A sentence with `#` for each figure, which the example decides. */
function withoutFigures(sentence: string): string {
  return sentence.replaceAll(/\d[\d,.:]*(?<=\d)/g, '#');
}
