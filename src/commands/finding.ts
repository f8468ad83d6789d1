/** One check of `fusegate doctor`. */

/** The texts are one or two sentences for the operator. */
export interface Finding {
  /** `problem`: the server does not start or cannot work. `note`: it works, but needs attention. */
  readonly level: 'ok' | 'note' | 'problem';
  readonly subject: string;
  readonly text: string;
}

/** Makes a finding. */
export function finding(level: Finding['level'], subject: string, text: string): Finding {
  return { level, subject, text };
}
