/**
 * Thirty collections for the audit's headline, by a seeded generator: ten clean ones, ten with damage that
 * normalization mends, ten with damage that it does not. Each record comes with its words as people type
 * them, which the generator knows because it wrote the record before it damaged it.
 */

/** A record, and the words that people ask for it by. */
export interface AuditedRecord {
  readonly text: string;
  readonly words: readonly string[];
}

/** A collection of records. */
export interface AuditCollection {
  readonly name: string;
  readonly kind: 'clean' | 'mended' | 'not mended';
  readonly records: readonly AuditedRecord[];
}

const RECORDS = 200;

/** A seeded source of shares: Park and Miller's minimal standard generator, its first values thrown away. */
export function sharesOf(seed: number): () => number {
  let state = seed * 7919 + 1;
  const next = (): number => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
  for (let each = 0; each < 10; each++) next();
  return next;
}

const english = (
  'tent stove lamp kettle bottle jacket window garden copper silver morning station harbour bridge ' +
  'village mountain letter picture summer winter traveller engine paper market river orange basket ' +
  'pocket blanket candle hammer ladder mirror needle officer pepper rocket saddle temple violin'
).split(' ');
const french = 'café crème façade élève château naïve hôtel forêt garçon théâtre'.split(' ');

interface Kind {
  readonly name: string;
  readonly kind: AuditCollection['kind'];
  readonly words: readonly string[];
  /** Share of the records that are damaged. */
  readonly share: number;
  /** Words that are damaged, as typed; the others stay. Left out: those of `words`. */
  readonly targets?: readonly string[];
  /** A word as it stands in the record. */
  readonly damage: (word: string) => string;
}

const same = (word: string): string => word;
const middle = (word: string, put: string): string => `${word.slice(0, 2)}${put}${word.slice(2)}`;
const mapped = (word: string, table: Readonly<Record<string, string>>): string =>
  Array.from(word, (c) => table[c] ?? c).join('');
const lookAlike = { a: 'а', e: 'е', o: 'о', c: 'с', p: 'р' };
const subscripts = Object.fromEntries(
  Array.from('0123456789', (c, at) => [c, String.fromCodePoint(0x2080 + at)]),
);
const emoji: Readonly<Record<string, string>> = { rocket: '🚀', guitar: '🎸', umbrella: '☂️', pizza: '🍕' };

const clean = (name: string, words: readonly string[]): Kind => ({
  name: `clean: ${name}`,
  kind: 'clean',
  words,
  share: 0,
  damage: same,
});
const mended = (kind: Omit<Kind, 'kind'>): Kind => ({ ...kind, kind: 'mended' });
const left = (kind: Omit<Kind, 'kind'>): Kind => ({ ...kind, kind: 'not mended' });

const kinds: readonly Kind[] = [
  clean('English', english),
  clean('French', [...english, ...french]),
  clean('German', 'Straße Übung Größe Fenster Brücke Mädchen Äpfel Öl Tür schön grün heiß'.split(' ')),
  clean('Russian', 'привет книга город река зима лето письмо окно сад мост'.split(' ')),
  clean('Greek', 'θάλασσα βιβλίο πόλη χειμώνας ήλιος γράμμα σπίτι νερό'.split(' ')),
  clean('numbers and parts', 'M8 A4 42 1999 X200 R2D2 7mm 250g 3D B52'.split(' ').concat(english)),
  clean('apostrophes', "don't it's they're we'll can't O'Brien".split(' ').concat(english)),
  clean('Turkish', 'ılık kış çiçek gül şeker ağaç güneş deniz'.split(' ')),
  clean('Vietnamese', 'đường nước người Việt phở cà sữa mùa xuân'.split(' ')),
  clean('genes', 'TNFα TGFβ1 IFNγ p53 BRCA1 NFκB IL6'.split(' ').concat(english)),
  mended({
    name: 'UTF-8 read as Latin-1',
    words: english,
    targets: french,
    share: 0.3,
    damage: (word) => Buffer.from(word).toString('latin1'),
  }),
  mended({
    name: 'zero-width spaces',
    words: english,
    share: 0.12,
    damage: (word) => middle(word, '\u200b'),
  }),
  mended({ name: 'soft hyphens', words: english, share: 0.4, damage: (word) => middle(word, '\u00ad') }),
  mended({
    name: 'Cyrillic lookalikes',
    words: english,
    targets: ['copper', 'station', 'pocket', 'paper', 'orange', 'temple'],
    share: 0.07,
    damage: (word) => word.replace(/[aeocp]/, (c) => mapped(c, lookAlike)),
  }),
  mended({
    name: 'fullwidth letters',
    words: english,
    share: 0.25,
    damage: (word) =>
      Array.from(word, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0)).join(''),
  }),
  mended({
    name: 'ligatures',
    words: english,
    targets: ['fine', 'office', 'flower', 'figure', 'coffee', 'waffle'],
    share: 0.5,
    damage: (word) => word.replace('fi', 'ﬁ').replace('fl', 'ﬂ').replace('ff', 'ﬀ'),
  }),
  mended({
    name: 'decomposed accents',
    words: english,
    targets: french,
    share: 0.35,
    damage: (word) => word.normalize('NFD'),
  }),
  mended({
    name: 'subscripts',
    words: english,
    targets: ['H2O', 'CO2', 'H2SO4', 'NH3', 'C6H12O6'],
    share: 0.2,
    damage: (word) => mapped(word, subscripts),
  }),
  mended({
    name: 'typographic apostrophes',
    words: english,
    targets: ["don't", "it's", "they're", "can't"],
    share: 0.6,
    damage: (word) => word.replace("'", '’'),
  }),
  mended({
    name: 'emoji for words',
    words: english.filter((word) => emoji[word] === undefined),
    targets: Object.keys(emoji),
    share: 0.15,
    damage: (word) => emoji[word] ?? word,
  }),
  left({
    name: 'misspellings',
    words: english,
    share: 0.3,
    damage: (word) => `${word.slice(0, 1)}${word.slice(2, 3)}${word.slice(1, 2)}${word.slice(3)}x`,
  }),
  left({ name: 'lost bytes', words: english, share: 0.3, damage: (word) => middle(word, '\ufffd') }),
  left({ name: 'words run together', words: english, share: 0.3, damage: (word) => `${word}${word}` }),
  left({ name: 'words torn apart', words: english, share: 0.3, damage: (word) => middle(word, ' ') }),
  left({
    name: 'leetspeak',
    words: english,
    share: 0.3,
    damage: (word) => mapped(word, { a: '4', e: '3', o: '0', i: '1' }),
  }),
  left({
    name: 'accents stripped',
    words: english,
    targets: french,
    share: 0.3,
    damage: (word) => word.normalize('NFD').replaceAll(/\p{M}/gu, ''),
  }),
  left({
    name: 'transcribed',
    words: english,
    targets: ['Moskva', 'Kreml', 'Volga'],
    share: 0.3,
    damage: (word) =>
      mapped(word, {
        M: 'М',
        o: 'о',
        s: 'с',
        k: 'к',
        v: 'в',
        a: 'а',
        K: 'К',
        r: 'р',
        e: 'е',
        m: 'м',
        l: 'л',
        V: 'В',
        g: 'г',
      }),
  }),
  left({ name: 'HTML inside words', words: english, share: 0.3, damage: (word) => middle(word, '<b></b>') }),
  left({
    name: 'other alphabets’ digits',
    words: english,
    targets: ['2024', '1984', '365'],
    share: 0.3,
    damage: (word) =>
      mapped(
        word,
        Object.fromEntries(Array.from('0123456789', (c, at) => [c, String.fromCodePoint(0x660 + at)])),
      ),
  }),
  left({ name: 'spacing accents', words: english, share: 0.3, damage: (word) => middle(word, '¨') }),
];

function recordOf(kind: Kind, number: number, chance: () => number): AuditedRecord {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(chance() * all.length)] as T;
  const words = Array.from({ length: 5 + Math.floor(chance() * 8) }, () => pick(kind.words));
  const shown: string[] = [...words];
  if (chance() < kind.share) {
    const target = pick(kind.targets ?? kind.words);
    const place = Math.floor(chance() * words.length);
    words[place] = target;
    shown[place] = kind.damage(target);
  }
  return { text: `${shown.join(' ')}, no ${number}.`, words: [...words, 'no', String(number)] };
}

/** All thirty. */
export function auditCollections(): AuditCollection[] {
  return kinds.map((kind, seed) => {
    const chance = sharesOf(seed + 1);
    const records = Array.from({ length: RECORDS }, (_, number) => recordOf(kind, number, chance));
    return { name: kind.name, kind: kind.kind, records };
  });
}
