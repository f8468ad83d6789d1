/**
 * Requests of the shapes that cost a reader most for their bytes, for every route: `npm run bench -- census`
 * searches among them, and `census.test.ts` checks what it found.
 */
import { routeList } from '../../src/contract/routes.js';
import { fieldsOf } from '../../src/contract/schema/shape.js';
import { head } from '../support/raw.js';

/** Texts of the kinds that readers have to work for. */
const units = ['x', 'a ', '\\u00e9', '\\ud83d\\ude00', '😀', 'Ã©', 'e\u0301', '漢', '<b>', '\\n', '7', 'ﬁ'];

/** Parts of a list or an object; `#` is another number each time. */
const parts = [
  ...['{}', '[]', '0', '""', '"a"', '1e-300', '"k#"'],
  ...['{"id":"","text":"","dense_score":1}', '{"text":"a b#"}', '"<<SHARD>>{}<</SHARD>>"'],
];
const members = ['"":0', '"":""', '"k#":0', '"k#":"v"', '"\\u006b#":0', '"#":{}'];

/** Lines of bodies that have lines. */
const lineUnits = ['\n', '\r\n', '0\n', '{}\n', '{"query":"a","docs":[]}\n', '{"text":""}\n', '"\n'];

/** Kinds of a member's value. */
export const kinds = ['text', 'list', 'object', 'texts', 'markers'] as const;

/** Different fillings of one kind, at most. */
export const fillings = 12;

/** One member of a body: its name, and what its value is filled with. */
export interface Gene {
  readonly name: string;
  readonly kind: (typeof kinds)[number];
  readonly of: number;
}

/** A body's shape. */
export interface Genome {
  /** True if the other members of the route's example are there, so that more of it is valid. */
  readonly isWhole: boolean;
  readonly genes: readonly Gene[];
}

function filled(part: string, separator: string, bytes: number): string {
  const count = Math.max(1, Math.floor(bytes / (Buffer.byteLength(part) + separator.length)));
  if (!part.includes('#')) return Array<string>(count).fill(part).join(separator);
  return Array.from({ length: count }, (_, at) => part.replace('#', String(at))).join(separator);
}

function at(list: readonly string[], index: number): string {
  return list[index % list.length] ?? '';
}

function valueOf({ kind, of }: Gene, bytes: number): string {
  if (kind === 'text') return `"${filled(at(units, of), '', bytes)}"`;
  if (kind === 'object') return `{${filled(at(members, of), ',', bytes)}}`;
  if (kind === 'list') return `[${filled(at(parts, of), ',', bytes)}]`;
  if (kind === 'markers') {
    const marker =
      of % 2 === 0 ? '<<SHARD>>' : `<<SHARD>>{\\"title\\":\\"a#\\",\\"content\\":\\"b#\\"}<</SHARD>>`;
    return `"${filled(marker, '', bytes)}"`;
  }
  // As many as an audit takes, so that some bodies are valid.
  return `[${filled(`"${filled(at(units, of), '', bytes / 400)}"`, ',', bytes)}]`;
}

/** A route as its worst request is searched for. */
export interface Subject {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly kind: 'json' | 'lines' | 'form' | 'target';
  /** Most bytes of a body that is tried. */
  readonly limit: number;
  /**
   * False where its processor time does not go by its bytes: each line is a request of its own, and long
   * explorations wait for each other in a queue off the loop. Then the loop and the memory are judged.
   */
  readonly byBytes: boolean;
  /** Names of the body's members. */
  readonly names: readonly string[];
  /** The example's body. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** Most bytes of a body that is tried: what a route takes for more of them goes by their number. */
const mostBytes = 1 << 20;

/** The same of a body of lines, which is answered by many times its bytes. */
const mostLineBytes = 1 << 14;

/** What is asked of the routes without a body, each for as much as it gives. */
const targets = [
  ...['/', '/docs', '/docs/guides/checkout', '/buy', '/graph?limit=1000', '/graph/fragments?limit=1000'],
  ...['/walk?steps=100', '/graph/near?text=red%20bike&k=100', '/focus', '/leaderboard', '/how'],
  ...['/v1/pricing', '/v1/limits', '/privacy', '/openapi.json', '/ready', '/health', '/version', '/info'],
  ...['/checkpoint', '/tile/0/000', '/log/vkey', '/pages/sigma.min.js', '/v1/audit/stacks', '/v1/models'],
  ...['/v1/checkout/btc/btc_0123456789abcdefghijk', '/buy/btc/btc_0123456789abcdefghijk?claim=a'],
  `/graph/near?text=${'%C3%A9%20'.repeat(1_000)}`,
  `/dream_get?title=a&content=${'%EF%AC%81'.repeat(900)}`,
  `/c/x.y?d=/${'a'.repeat(2_000)}`,
  `/dream_confirm?${'confirm=a&'.repeat(800)}`,
];

/** Every route that takes a body, and targets of the others. */
export function subjects(): Subject[] {
  const withBody = routeList.flatMap(({ id, method, path, body, example }): Subject[] => {
    if (body.kind === 'none') return [];
    const { limit } = body;
    const type = body.kind === 'any' ? undefined : 'described' in body ? body.described : body.schema;
    const known = typeof example === 'function' ? undefined : example.request;
    const given = known?.body;
    // What is put is statistics; a form is posted.
    const others = method === 'PUT' ? 'json' : 'form';
    const kind = body.kind === 'lines' ? 'lines' : body.kind === 'any' ? others : 'json';
    const unnamed = method === 'PUT' ? ['docs', 'average_length', 'df'] : ['tier', 'email'];
    const names = type === undefined ? unnamed : fieldsOf(type).map(({ name }) => name);
    const whole = kind === 'json' && typeof given === 'object' ? (given as Subject['example']) : {};
    const target = (known?.path ?? path).replace(/\{\w+\}/g, 'a');
    const most = kind === 'lines' ? mostLineBytes : Math.min(limit, mostBytes);
    const searched = { limit: most, names: [...names, 'z'], example: whole };
    return [{ name: id, method, path: target, kind, byBytes: kind !== 'lines', ...searched }];
  });
  const asked = targets.map((path): Subject => {
    const byBytes = !/^\/(?:walk|graph)\?|^\/graph\/fragments/.test(path);
    const empty = { limit: 0, names: [], example: {} };
    return { name: path.slice(0, 40), method: 'GET', path, kind: 'target', byBytes, ...empty };
  });
  return [...withBody, ...asked];
}

function jsonOf({ example, limit }: Subject, { isWhole, genes }: Genome): string {
  const own = genes.map(({ name }) => name);
  const rest = isWhole ? Object.entries(example).filter(([name]) => !own.includes(name)) : [];
  const kept = rest.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  const room = Math.floor((limit - kept.join().length) / genes.length) - 64;
  const made = genes.map((gene) => `${JSON.stringify(gene.name)}:${valueOf(gene, Math.max(1, room))}`);
  return `{${[...kept, ...made].join(',')}}`;
}

function formOf({ limit }: Subject, { genes }: Genome): string {
  const room = Math.floor(limit / genes.length) - 16;
  const made = genes.map(({ name, of }) => {
    const unit = at(['x', '%C3%A9', '&a=b', '+', '&', '%', '=', '&k#='], of);
    return `${name}=${filled(unit, '', Math.max(1, room))}`;
  });
  return made.join('&').slice(0, limit);
}

/** The body of a shape, nearly as long as its route takes it. */
export function bodyOf(subject: Subject, genome: Genome): string {
  if (subject.kind === 'form') return formOf(subject, genome);
  if (subject.kind === 'json') return jsonOf(subject, genome);
  const [gene] = genome.genes;
  return filled(at(lineUnits, gene?.of ?? 0), '', subject.limit);
}

const mediaTypes = {
  json: 'application/json',
  lines: 'application/x-ndjson',
  form: 'application/x-www-form-urlencoded',
} as const;

/** The request of a shape. */
export function requestOf(subject: Subject, genome: Genome, key: string): Buffer {
  const { kind, method, path } = subject;
  const fields = { 'X-API-Key': key, 'Accept-Encoding': 'identity' };
  if (kind === 'target') return Buffer.from(head(method, path, fields));
  const body = Buffer.from(bodyOf(subject, genome));
  const more = { 'Content-Type': mediaTypes[kind], 'Content-Length': String(body.byteLength) };
  return Buffer.concat([Buffer.from(head(method, path, { ...fields, ...more })), body]);
}
