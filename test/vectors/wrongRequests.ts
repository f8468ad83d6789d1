/** Wrong requests, and what each answer says: sent to a server by a test, and shown in docs/mistakes.md. */
import { readFileSync } from 'node:fs';

/** One wrong request. */
export interface WrongRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** `application/json` where nothing else is given. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
  /** The words of the answer, as {@link wordsOf} reads them. */
  readonly says: string;
}

/** Every one. */
export const wrongRequests = JSON.parse(
  readFileSync('test/vectors/wrongRequests.json', 'utf8'),
) as readonly WrongRequest[];

interface FieldError {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly ctx?: {
    readonly hint?: string;
    readonly line?: number;
    readonly column?: number;
    readonly excerpt?: string;
  };
}

function more({ hint, line, column, excerpt = '' }: FieldError['ctx'] & object): string {
  if (hint !== undefined) return ` [${hint}]`;
  return line === undefined ? '' : ` [line ${line}, column ${column}: ${excerpt.trim()}]`;
}

/** What an error's body says to a reader: its sentence, or the place and the words of each error. */
export function wordsOf(body: string): string {
  const { detail, message } = JSON.parse(body) as {
    readonly detail: string | readonly FieldError[];
    readonly message?: string;
  };
  if (typeof detail === 'string') return message ?? detail;
  return detail.map(({ loc, msg, ctx = {} }) => `${loc.join('.')}: ${msg}${more(ctx)}`).join(' ');
}
