/** The home page's playground: ranks pasted candidates through /v1/fuse and explains the result. */
import { bar, rangeOf } from './playgroundBars.js';
import { programOf } from './playgroundCode.js';
import { readDocs } from './playgroundDocs.js';
import { fromFragment, toFragment } from './playgroundLink.js';

const byId = (id) => document.getElementById(id);

/** Ids of the controls whose values a link contains; the key is not among them. */
const stored = [
  ...['query', 'docs', 'field', 'dense', 'model', 'tokenizer', 'analyzer', 'method', 'bm25', 'dense-weight'],
];

/** Most results shown on each side; the answer may have more. */
const mostShown = 200;

/** Number of the latest request: answers to earlier ones are dropped. */
let sent = 0;

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** Parses the candidates, and shows how they were parsed. */
function readCandidates() {
  const select = byId('field');
  const read = readDocs(byId('docs').value, select.value);
  const { problem, docs = [], kind, fields = [], field } = read;
  byId('field-box').hidden = fields.length < 2;
  if ([...select.options].map(({ value }) => value).join('\n') !== fields.join('\n'))
    select.replaceChildren(...fields.map((name) => element('option', { value: name, textContent: name })));
  if (field !== undefined) select.value = field;
  const scored = docs.filter(({ dense_score }) => dense_score !== undefined).length;
  const scores = scored === 0 ? '' : ` ${scored} of them with a score.`;
  byId('docs-state').textContent = problem ?? `Read as ${kind}: ${docs.length} candidates.${scores}`;
  return { ...read, scored };
}

/** The body of the request; a sentence if there is none. */
function requestBody() {
  const { problem, docs, scored } = readCandidates();
  if (problem !== undefined) return problem;
  const given = byId('dense').value === 'given';
  if (given && scored < docs.length)
    return `${docs.length - scored} of ${docs.length} candidates have no score. Add them, or let a model compute them.`;
  const weights = { bm25: Number(byId('bm25').value), dense: Number(byId('dense-weight').value) };
  if (weights.bm25 + weights.dense === 0) return 'Give at least one of the two lists a weight.';
  return {
    query: byId('query').value,
    docs: given ? docs : docs.map(({ id, text }) => ({ id, text })),
    method: byId('method').value,
    tokenizer: byId('tokenizer').value,
    // Stems need words: the server refuses them for texts cut into bigrams.
    ...(byId('analyzer').disabled ? {} : { analyzer: byId('analyzer').value }),
    ...(given || byId('model').value === '' ? {} : { embed_model: byId('model').value }),
    weights,
    explain: true,
  };
}

function say(words, look = '') {
  byId('outcome').hidden = false;
  const state = byId('state');
  state.className = `state ${look}`;
  state.textContent = words;
}

/** A refusal as a sentence. */
function refusal(status, { detail }) {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return `The server answered ${status}.`;
  const errors = detail.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`);
  return `The server does not take this request. ${errors.slice(0, 3).join('; ')}.`;
}

function words(text) {
  return element('p', { className: 'text', dir: 'auto', textContent: text === '' ? '(no text)' : text });
}

/** The place of each result among the candidates; equal candidates are matched in order. */
function placesOf(docs, results) {
  const places = new Map();
  const keyOf = ({ id, text }) => JSON.stringify([id, text]);
  docs.forEach((doc, index) => places.set(keyOf(doc), [...(places.get(keyOf(doc)) ?? []), index + 1]));
  return results.map((result) => places.get(keyOf(result))?.shift() ?? 0);
}

function moved(from, to) {
  if (from === to) return 'same place';
  return from > to ? `▲ up from ${from}` : `▼ down from ${from}`;
}

function resultItem(result, from, range) {
  const { rank, fused_score: score, explain } = result;
  const [bm25, dense] = [explain.bm25_part, explain.dense_part].map((part) => part.toFixed(3));
  const look = from === rank ? 'note' : from > rank ? 'note up' : 'note down';
  return element(
    'li',
    {},
    words(result.text),
    bar(result, range),
    element(
      'p',
      { className: look },
      `${score.toFixed(4)} = BM25 ${bm25} + dense ${dense} · `,
      element('span', { className: 'moved', textContent: moved(from, rank) }),
    ),
  );
}

function show(body, { results, warnings = [], dense_source: source }, timing) {
  const left = results.length - mostShown;
  const more = left > 0 ? ` The first ${mostShown} of ${results.length} are shown.` : '';
  say(`${results.length} results in ${timing}. Dense scores: ${source}.${more}`, 'good');
  byId('warnings').replaceChildren(
    ...warnings.map(({ code, message }) => element('li', { textContent: `${code}: ${message}` })),
  );
  const places = placesOf(body.docs, results);
  const range = rangeOf(results);
  byId('before').replaceChildren(
    ...body.docs.slice(0, mostShown).map(({ text }) => element('li', {}, words(text))),
  );
  byId('after').replaceChildren(
    ...results.slice(0, mostShown).map((result, index) => resultItem(result, places[index], range)),
  );
  byId('orders').hidden = false;
}

/** The duration of the request: in total, and in the server. */
function timingOf(response, began) {
  const whole = `${(performance.now() - began).toFixed(1)} ms`;
  const server = /dur=([\d.]+)/.exec(response.headers.get('server-timing') ?? '')?.[1];
  return server === undefined ? whole : `${whole} (${Number(server).toFixed(2)} ms of them in the server)`;
}

function fail(sentence) {
  say(sentence, 'bad');
  byId('warnings').replaceChildren();
  byId('orders').hidden = true;
}

/** Sends the request, and shows its answer. */
async function rank() {
  const own = (sent += 1);
  const body = requestBody();
  if (typeof body === 'string') return fail(body);
  const key = byId('key').value.trim();
  say('Ranking …');
  const began = performance.now();
  try {
    const response = await fetch('/v1/fuse', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(key === '' ? {} : { 'X-API-Key': key }) },
      body: JSON.stringify(body),
    });
    const timing = timingOf(response, began);
    const answer = await response.json();
    if (own !== sent) return undefined;
    return response.ok ? show(body, answer, timing) : fail(refusal(response.status, answer));
  } catch {
    return own === sent ? fail('No answer came from the server. Try again.') : undefined;
  }
}

function showSettings() {
  for (const id of ['bm25', 'dense-weight'])
    byId(`${id}-value`).textContent = Number(byId(id).value).toFixed(2);
  byId('analyzer').disabled = byId('tokenizer').value !== 'ws';
  byId('model-box').hidden = byId('dense').value === 'given' || byId('model').options.length === 0;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    byId('copied').textContent = `${what} copied.`;
  } catch {
    byId('copied').textContent = 'This browser does not let the page copy.';
  }
}

function copyCode(language, label) {
  const body = requestBody();
  if (typeof body === 'string') return fail(body);
  const keyed = byId('key').value.trim() !== '';
  return copy(programOf(language, { url: `${location.origin}/v1/fuse`, body, keyed }), label);
}

async function copyLink() {
  const state = Object.fromEntries(stored.map((id) => [id, byId(id).value]));
  const fragment = await toFragment(state);
  history.replaceState(null, '', fragment);
  await copy(location.href, 'The link was');
}

/** Sets the controls to a link's state; controls without a value in it, or with an unknown one, stay. */
function restore(state) {
  for (const id of stored) {
    const control = byId(id);
    const value = state[id];
    if (typeof value !== 'string') continue;
    if (id === 'field') control.replaceChildren(element('option', { value, textContent: value }));
    const has =
      control.options === undefined || [...control.options].some((option) => option.value === value);
    if (has) control.value = value;
  }
}

/** Handles a paste, which may contain a query, and scores. */
function pasted() {
  const { query, scored = 0, docs = [] } = readCandidates();
  if (query !== undefined) byId('query').value = query;
  byId('dense').value = docs.length > 0 && scored === docs.length ? 'given' : 'model';
  showSettings();
}

async function start() {
  byId('without-script').hidden = true;
  byId('bench').hidden = false;
  const state = await fromFragment(location.hash);
  if (state !== undefined) restore(state);
  showSettings();
  byId('form').addEventListener('submit', (event) => {
    event.preventDefault();
    void rank();
  });
  byId('docs').addEventListener('input', pasted);
  byId('form').addEventListener('input', showSettings);
  byId('form').addEventListener('change', ({ target }) => {
    if (target.id !== 'key' && target.id !== 'docs') void rank();
  });
  for (const button of document.querySelectorAll('[data-code]'))
    button.addEventListener('click', () => void copyCode(button.dataset.code, 'The program was'));
  byId('link').addEventListener('click', () => void copyLink());
  addEventListener('hashchange', async () => {
    const next = await fromFragment(location.hash);
    if (next === undefined) return;
    restore(next);
    showSettings();
    await rank();
  });
  await rank();
}

void start();
