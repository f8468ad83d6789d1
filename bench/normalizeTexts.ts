/** The texts of `bench normalize`: prose in ten languages, as it is, and damaged with its truth known. */

/** A text, and what its repair must bring back. */
export interface BenchText {
  readonly name: string;
  readonly text: string;
  /** The text before it was damaged, without what is glossed. */
  readonly truth: string;
}

/** Article 1 of the Universal Declaration of Human Rights. */
const ARTICLES = [
  'All human beings are born free and equal in dignity and rights. They are endowed with reason and ' +
    'conscience and should act towards one another in a spirit of brotherhood.',
  'Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de ' +
    'conscience et doivent agir les uns envers les autres dans un esprit de fraternité.',
  'Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen ' +
    'begabt und sollen einander im Geist der Brüderlichkeit begegnen.',
  'Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y ' +
    'conciencia, deben comportarse fraternalmente los unos con los otros.',
  'Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и ' +
    'должны поступать в отношении друг друга в духе братства.',
  'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.',
  '人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。',
  'すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。',
  'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।',
  'يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.',
];

const CHARACTERS = 95_000;

/** Lines one after the other until there are enough characters. */
function repeated(lines: readonly string[]): string {
  const whole: string[] = [];
  for (let length = 0, at = 0; length < CHARACTERS; at++) {
    const line = lines[at % lines.length] ?? '';
    whole.push(line);
    length += line.length + 1;
  }
  return `${whole.slice(0, -1).join('\n')}\n`;
}

/** UTF-8 read as Latin-1. */
function misread(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

const lookAlikes: Readonly<Record<string, string>> = { a: 'а', e: 'е', o: 'о', p: 'р', c: 'с' };

/** Ways to damage a word of ASCII so that its repair is the word. */
const damages: readonly ((word: string) => string)[] = [
  (word) => `${word.slice(0, 2)}\u200b${word.slice(2)}`,
  (word) => Array.from(word, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)).join(''),
  (word) => word.replace(/(?<=[a-z])[aeopc](?=[a-z])/, (c) => lookAlikes[c] ?? c),
  (word) => `${word}\u00ad`,
];

const signs = ['😂', '❤️', '👍🏽', '🇫🇷', '👩‍💻'];

/**
 * Damages about one word of ASCII in twenty, misreads the lines in French, puts typographic quotes round a
 * word in forty and an emoji at the end of a line in five. The same every time.
 */
function damaged(line: string, number: number): string {
  const words = line.split(' ').map((word, at) => {
    const place = number * 31 + at * 7;
    const ascii = /^[a-z]{5,}$/.test(word);
    if (ascii && place % 20 === 0) return damages[place % damages.length]?.(word) ?? word;
    return place % 40 === 1 ? `“${word}”` : word;
  });
  const latin = /^[\u0000-\u024f“”\uff00-\uff5e]*$/.test(line) && /[à-ÿ]/.test(line);
  const text = number % 10 === 1 && latin ? misread(line) : words.join(' ');
  return number % 5 === 0 ? `${text} ${signs[(number / 5) % signs.length] ?? ''}` : text;
}

/** Clean English, clean prose in ten languages, and the same damaged. */
export function benchTexts(): BenchText[] {
  const [english = ''] = ARTICLES;
  const clean = repeated(ARTICLES);
  const lines = clean.trimEnd().split('\n');
  return [
    { name: 'ASCII', text: repeated([english]), truth: repeated([english]) },
    { name: 'ten languages', text: clean, truth: clean },
    { name: 'ten languages, damaged', text: `${lines.map(damaged).join('\n')}\n`, truth: clean },
  ];
}
