/** One thing that `fusegate doctor` looked at. */

/** Each text is a sentence or two, for the operator. */
export interface Finding {
  /** `problem`: the server does not start or cannot do its work. `note`: it works, but look at it. */
  readonly level: 'ok' | 'note' | 'problem';
  readonly subject: string;
  readonly text: string;
}

/** A finding of its parts. */
export function finding(level: Finding['level'], subject: string, text: string): Finding {
  return { level, subject, text };
}
