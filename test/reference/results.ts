/**
 * The obvious reading of a FuseRequest's `collapse`, `diversify` and `highlight`, one sentence of the rules a
 * function.
 */
import { foldText, isWordCharacter } from './unicode.js';

/** Docs that count as one. */
export interface ReferenceCollapse {
  readonly by: 'text' | 'group';
  readonly keep?: number | undefined;
}

/** Results unlike those before them. */
export interface ReferenceDiversify {
  readonly diversity: number;
  readonly by?: 'terms' | 'vectors' | undefined;
  readonly candidates?: number | undefined;
}

/** Fragments of texts. */
export interface ReferenceHighlight {
  readonly chars?: number | undefined;
  readonly fragments?: number | undefined;
}

/** How a result was chosen. */
export interface Choice {
  readonly relevance: number;
  readonly similarity: number;
  readonly score: number;
}

/** A fragment, in code points. */
export interface Fragment {
  readonly start: number;
  readonly end: number;
  readonly matches: readonly (readonly [number, number])[];
}

/** A term of the query at a place of a text. */
export interface Match {
  readonly start: number;
  readonly end: number;
  readonly term: string;
}

/** Leaves the first `keep` of those that are alike. */
export function collapsed<Doc>(
  docs: readonly Doc[],
  { by, keep = 1 }: ReferenceCollapse,
  facts: (doc: Doc) => { text: string; group?: string | undefined },
): Doc[] {
  const keyOf = (doc: Doc): string | undefined =>
    by === 'group' ? facts(doc).group : foldText(facts(doc).text.normalize('NFKC'));
  return docs.filter((doc, at) => {
    const key = keyOf(doc);
    const before = docs.slice(0, at).filter((other) => keyOf(other) === key);
    return key === undefined || before.length < keep;
  });
}

/** Share of the terms of both that they have in common; texts without terms are like nothing. */
export function jaccard(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const both = [...one].filter((term) => other.has(term)).length;
  return both === 0 ? 0 : both / (one.size + other.size - both);
}

/** Places of docs in their new order, and how each of the chosen came to its place. */
export function diversified(
  scores: readonly number[],
  likeness: (one: number, other: number) => number,
  { diversity, candidates }: ReferenceDiversify,
  topK: number,
): { order: number[]; choices: Choice[] } {
  const places = scores.map((_, at) => at);
  const count = Math.min(places.length, candidates ?? Math.min(500, 3 * topK));
  if (diversity === 0 || count === 0) return { order: places, choices: [] };
  const largest = Math.max(...scores.slice(0, count).map(Math.abs));
  const open = places.slice(0, count);
  const order: number[] = [];
  const choices: Choice[] = [];
  while (order.length < Math.min(count, topK)) {
    const rated = open.map((at) => {
      const relevance = largest === 0 ? 0 : (scores[at] ?? NaN) / largest;
      const alike = order.map((other) => likeness(other, at));
      const similarity = Math.max(0, ...alike);
      return { at, relevance, similarity, score: (1 - diversity) * relevance - diversity * similarity };
    });
    const best = rated.reduce((one, other) => (other.score > one.score ? other : one));
    order.push(best.at);
    open.splice(open.indexOf(best.at), 1);
    const { relevance, similarity, score } = best;
    choices.push({ relevance, similarity, score });
  }
  return { order: [...order, ...open, ...places.slice(count)], choices };
}

/** Spans that overlap, made one. */
function merged(matches: readonly Match[]): [number, number][] {
  const spans: [number, number][] = [];
  for (const { start, end } of matches) {
    const last = spans.at(-1);
    if (last !== undefined && start < last[1]) last[1] = Math.max(last[1], end);
    else spans.push([start, end]);
  }
  return spans;
}

/** A fragment with its matches in the middle that cuts no other word. */
function around(
  characters: readonly string[],
  [first, last]: readonly [number, number],
  [lower, upper]: readonly [number, number],
  most: number,
): [number, number] {
  const slack = Math.max(0, most - (last - first));
  let start = Math.max(lower, first - Math.floor(slack / 2));
  const whole = Math.min(upper, start + most);
  start = Math.min(start, Math.max(lower, whole - most));
  const joined = (at: number): boolean =>
    at > 0 &&
    at < characters.length &&
    isWordCharacter(characters[at - 1] ?? '') &&
    isWordCharacter(characters[at] ?? '');
  while (start < first && joined(start)) start++;
  let end = whole;
  while (end > last && joined(end)) end--;
  return [start, end <= start ? whole : end];
}

/** The matches that one more fragment holds best. */
function bestWindow(matches: readonly Match[], most: number, chosen: readonly Fragment[]): Match[] {
  const isFree = ({ start, end }: Match): boolean =>
    end - start <= most && chosen.every((fragment) => end <= fragment.start || start >= fragment.end);
  let best: Match[] = [];
  const different = (window: readonly Match[]): number => new Set(window.map(({ term }) => term)).size;
  for (const [at, match] of matches.entries()) {
    const rest = matches.slice(at);
    const limit = rest.findIndex((other) => !isFree(other) || other.end > match.start + most);
    const window = limit < 0 ? rest : rest.slice(0, limit);
    const more = different(window) - different(best) || window.length - best.length;
    if (more > 0) best = window;
  }
  return best;
}

/** The fragments of a text. */
export function fragmentsOf(
  text: string,
  matches: readonly Match[],
  { chars = 160, fragments = 1 }: ReferenceHighlight,
): Fragment[] {
  const characters = Array.from(text);
  const chosen: Fragment[] = [];
  for (let count = 0; count < fragments; count++) {
    const window = bestWindow(matches, chars, chosen);
    const [one, other] = [window[0], window.at(-1)];
    if (one === undefined || other === undefined) break;
    const ends = chosen.filter(({ end }) => end <= one.start).map(({ end }) => end);
    const starts = chosen.filter(({ start }) => start > one.start).map(({ start }) => start);
    const bounds = [Math.max(0, ...ends), Math.min(characters.length, ...starts)] as const;
    const [start, end] = around(characters, [one.start, other.end], bounds, chars);
    chosen.push({ start, end, matches: merged(window) });
  }
  if (chosen.length === 0 && characters.length > 0) {
    const [start, end] = around(characters, [0, 0], [0, characters.length], chars);
    chosen.push({ start, end, matches: [] });
  }
  return chosen.sort((one, other) => one.start - other.start);
}

/** The folded characters of a text's runs, each with the place of the character that it came of. */
export function placedRuns(text: string): { character: string; at: number }[][] {
  const found: { character: string; at: number }[][] = [[]];
  for (const [at, character] of Array.from(text).entries()) {
    if (!isWordCharacter(character)) found.push([]);
    else found.at(-1)?.push(...Array.from(foldText(character), (part) => ({ character: part, at })));
  }
  return found.filter((run) => run.length > 0);
}
