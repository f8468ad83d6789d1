/** Candidates from pasted text: lines, JSON, or a response of Elasticsearch or OpenSearch. */

/** Usual names of the text member, the most likely first. */
const usualFields = ['text', 'content', 'body', 'passage', 'description', 'title', 'name'];

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);

/** Text members of an object, nested ones as `a.b`; an array of texts is one text. */
function textsOf(value, prefix = '', depth = 0) {
  if (!isObject(value) || depth > 4) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    if (typeof member === 'string') return [[prefix + name, member]];
    if (Array.isArray(member) && member.length > 0 && member.every((each) => typeof each === 'string'))
      return [[prefix + name, member.join('\n')]];
    return textsOf(member, `${prefix}${name}.`, depth + 1);
  });
}

/** The names of all text members, and the most likely one. */
function fieldsOf(texts) {
  const lengths = new Map();
  for (const each of texts)
    for (const [name, text] of each) lengths.set(name, (lengths.get(name) ?? 0) + text.length);
  const names = [...lengths.keys()].filter((name) => name !== 'id' && name !== '_id');
  const usual = usualFields.find((name) => names.includes(name));
  const longest = [...names].sort((a, b) => lengths.get(b) - lengths.get(a))[0];
  return { names, likely: usual ?? longest };
}

/** Docs from objects: `idOf`, `scoreOf` and `sourceOf` read the parts of a candidate. */
function fromObjects(items, kind, field, { idOf, scoreOf, sourceOf }) {
  const texts = items.map((item) => textsOf(sourceOf(item)));
  const { names, likely } = fieldsOf(texts);
  const chosen = names.includes(field) ? field : likely;
  if (chosen === undefined) return { problem: `No candidate of this ${kind} has a text.` };
  const docs = items.map((item, index) => {
    const text = texts[index].find(([name]) => name === chosen)?.[1] ?? '';
    const score = scoreOf(item);
    return { id: String(idOf(item) ?? index + 1), text, ...(isNumber(score) ? { dense_score: score } : {}) };
  });
  return { docs, kind, fields: names, field: chosen };
}

const ofHit = {
  idOf: (hit) => hit._id,
  scoreOf: (hit) => hit._score,
  sourceOf: (hit) => hit._source ?? hit.fields,
};
const ofDoc = {
  idOf: (doc) => doc.id ?? doc._id,
  scoreOf: (doc) => doc.dense_score ?? doc.score ?? doc._score,
  sourceOf: (doc) => doc,
};

function fromArray(items, kind, field) {
  if (items.length === 0) return { problem: 'This list is empty.' };
  if (items.every((item) => typeof item === 'string'))
    return { docs: items.map((text, index) => ({ id: String(index + 1), text })), kind, fields: [] };
  if (!items.every(isObject)) return { problem: 'Each candidate must be a text or an object.' };
  const isHits = items.every((item) => isObject(item._source) || isObject(item.fields));
  return fromObjects(items, kind, field, isHits ? ofHit : ofDoc);
}

function fromJson(value, field) {
  if (Array.isArray(value)) return fromArray(value, 'JSON array', field);
  if (Array.isArray(value?.hits?.hits)) return fromArray(value.hits.hits, 'search response', field);
  for (const name of ['docs', 'documents', 'texts', 'results', 'hits']) {
    if (!Array.isArray(value?.[name])) continue;
    const query = typeof value.query === 'string' ? { query: value.query } : {};
    return { ...fromArray(value[name], `JSON with "${name}"`, field), ...query };
  }
  return { problem: 'This JSON has no candidates: no array, no "docs", no "documents", no "hits".' };
}

function tryJson(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: error.message };
  }
}

/** A line's text and the score after its last tab; null if there is none. */
function withScore(line) {
  const tab = line.lastIndexOf('\t', line.trimEnd().length - 1);
  const score = line.slice(tab + 1).trim();
  return tab >= 0 && /^-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(score) ? [line.slice(0, tab), score] : null;
}

/** Docs from lines, with a score after a tab if each line has one. */
function fromLines(lines) {
  const scored = lines.map(withScore);
  const hasScores = scored.every((match) => match !== null);
  const docs = lines.map((line, index) => {
    const id = String(index + 1);
    const [text, score] = (hasScores && scored[index]) || [];
    return hasScores ? { id, text: text.trim(), dense_score: Number(score) } : { id, text: line.trim() };
  });
  return { docs, kind: 'lines', fields: [] };
}

/**
 * Parses pasted text: `{docs, kind, fields, field?, query?}`, or `{problem}`, a sentence. `field`: the text
 * member to use, if it exists.
 */
export function readDocs(pasted, field = '') {
  const text = pasted.trim();
  if (text === '') return { problem: 'Paste at least one candidate.' };
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (!/^[[{]/.test(text)) return fromLines(lines);
  const whole = tryJson(text);
  if (whole.error === undefined) return fromJson(whole.value, field);
  const each = lines.map(tryJson);
  if (lines.length > 1 && each.every(({ error }) => error === undefined))
    return fromArray(
      each.map(({ value }) => value),
      'JSON lines',
      field,
    );
  if (text.startsWith('[') && !/^\[\s*(?:["{[\]]|-?\d|true|false|null)/.test(text)) return fromLines(lines);
  return { problem: `This begins like JSON but is not valid: ${whole.error}` };
}
