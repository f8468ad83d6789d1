/** Strict JSON (RFC 8259), checked the obvious way: the oracle of the native check. */
/** Why bytes are no acceptable JSON. */
type JsonReason =
  | 'syntax'
  | 'invalid UTF-8'
  | 'BOM'
  | 'lone surrogate'
  | 'number beyond binary64'
  | 'NaN'
  | 'Infinity'
  | 'nesting over 128';

/** Where (byte offset) and why bytes are refused. */
export interface Refusal {
  offset: number;
  line: number;
  column: number;
  reason: JsonReason;
}

class Refused extends Error {
  constructor(
    readonly offset: number,
    readonly reason: JsonReason,
  ) {
    super(reason);
  }
}

/** Line and column of an offset, from 1; a byte that continues a character of UTF-8 has no column. */
function placeOf(bytes: Uint8Array, offset: number): Pick<Refusal, 'line' | 'column'> {
  let [line, column] = [1, 1];
  for (const byte of bytes.subarray(0, offset)) {
    if (byte === 0x0a) [line, column] = [line + 1, 1];
    else if ((byte & 0xc0) !== 0x80) column += 1;
  }
  return { line, column };
}

function refuse(offset: number, reason: JsonReason): never {
  throw new Refused(offset, reason);
}

const isContinuation = (byte: number | undefined) => byte !== undefined && byte >= 0x80 && byte <= 0xbf;

/** Length of the UTF-8 sequence at `at` (Unicode, table 3-7), or why there is none. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const [a = 0, b = 0, c, d] = bytes.subarray(at, at + 4);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf && isContinuation(b)) return 2;
  if (a >= 0xe0 && a <= 0xef && isContinuation(b) && isContinuation(c)) {
    if (a === 0xed && b >= 0xa0) return refuse(at, 'lone surrogate');
    if (a !== 0xe0 || b >= 0xa0) return 3;
  }
  if (a >= 0xf0 && a <= 0xf4 && isContinuation(b) && isContinuation(c) && isContinuation(d)) {
    if ((a !== 0xf0 || b >= 0x90) && (a !== 0xf4 || b <= 0x8f)) return 4;
  }
  return refuse(at, 'invalid UTF-8');
}

function checkEncoding(bytes: Uint8Array): void {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) refuse(0, 'BOM');
  for (let at = 0; at < bytes.length;) at += sequenceLength(bytes, at);
}

/** A reader over the body as one character a byte, so that offsets are byte offsets. */
class Reader {
  at = 0;
  depth = 0;

  constructor(readonly text: string) {}

  peek(): string {
    return this.text[this.at] ?? '';
  }

  take(expected: RegExp): string {
    const char = this.peek();
    if (!expected.test(char)) refuse(this.at, 'syntax');
    this.at++;
    return char;
  }

  takeAll(word: string): void {
    for (const char of word) {
      if (this.peek() !== char) refuse(this.at, 'syntax');
      this.at++;
    }
  }

  space(): void {
    while (/^[ \t\n\r]$/.test(this.peek())) this.at++;
  }

  document(): void {
    this.value();
    this.space();
    if (this.at < this.text.length) refuse(this.at, 'syntax');
  }

  value(): void {
    this.space();
    const char = this.peek();
    if (char === '{') this.object();
    else if (char === '[') this.array();
    else if (char === '"') this.string();
    else if (/^[-0-9]$/.test(char)) this.number();
    else this.literal();
  }

  literal(): void {
    if (this.text.startsWith('NaN', this.at)) refuse(this.at, 'NaN');
    if (this.text.startsWith('Infinity', this.at)) refuse(this.at, 'Infinity');
    const word = ['true', 'false', 'null'].find((name) => name[0] === this.peek());
    if (word === undefined) refuse(this.at, 'syntax');
    this.takeAll(word);
  }

  number(): void {
    const start = this.at;
    if (this.text.startsWith('-Infinity', start)) refuse(start, 'Infinity');
    if (this.peek() === '-') this.at++;
    if (this.take(/^[0-9]$/) !== '0') this.digits();
    if (this.peek() === '.') {
      this.at++;
      this.take(/^[0-9]$/);
      this.digits();
    }
    if (/^[eE]$/.test(this.peek())) {
      this.at++;
      if (/^[-+]$/.test(this.peek())) this.at++;
      this.take(/^[0-9]$/);
      this.digits();
    }
    if (!Number.isFinite(Number(this.text.slice(start, this.at)))) refuse(start, 'number beyond binary64');
  }

  digits(): void {
    while (/^[0-9]$/.test(this.peek())) this.at++;
  }

  string(): void {
    this.take(/^"$/);
    while (this.peek() !== '"') {
      if (this.peek() === '\\') this.escape();
      else this.take(/^[^\u0000-\u001f]$/);
    }
    this.at++;
  }

  /** Four hexadecimal digits as a number. */
  hex(): number {
    for (let i = 0; i < 4; i++) this.take(/^[0-9a-fA-F]$/);
    return parseInt(this.text.slice(this.at - 4, this.at), 16);
  }

  escape(): void {
    const start = this.at;
    this.at++;
    if (this.take(/^["\\/bfnrtu]$/) !== 'u') return;
    const unit = this.hex();
    if (unit < 0xd800 || unit > 0xdfff) return;
    if (unit >= 0xdc00 || !this.text.startsWith('\\u', this.at)) refuse(start, 'lone surrogate');
    this.at += 2;
    const low = this.hex();
    if (low < 0xdc00 || low > 0xdfff) refuse(start, 'lone surrogate');
  }

  open(): void {
    if (++this.depth > 128) refuse(this.at, 'nesting over 128');
    this.at++;
    this.space();
  }

  array(): void {
    this.open();
    if (this.peek() === ']') this.at++;
    else {
      do {
        this.value();
        this.space();
      } while (this.take(/^[,\]]$/) === ',');
    }
    this.depth--;
  }

  object(): void {
    this.open();
    if (this.peek() === '}') this.at++;
    else {
      do {
        this.space();
        this.string();
        this.space();
        this.take(/^:$/);
        this.value();
        this.space();
      } while (this.take(/^[,}]$/) === ',');
    }
    this.depth--;
  }
}

/**
 * Why and where bytes are refused; `null` when they are one strict JSON text. Encoding is checked over the
 * whole body first, then one scan from left to right.
 */
export function checkJson(bytes: Uint8Array): Refusal | null {
  try {
    checkEncoding(bytes);
    new Reader(Buffer.from(bytes).toString('latin1')).document();
    return null;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { offset, reason } = error;
    return { offset, ...placeOf(bytes, offset), reason };
  }
}
