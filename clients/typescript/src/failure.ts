/** What a server refuses, and how long to wait before asking again. */

/** One fault of a request that does not fit. */
export interface Fault {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

/** True for a fault as Fusegate writes it; a proxy may answer with JSON of its own. */
function isFault(each: unknown): each is Fault {
  const { loc, msg } = Object(each) as { loc?: unknown; msg?: unknown };
  return Array.isArray(loc) && typeof msg === 'string';
}

/** A refusal, or (status 0) no answer that can be read. */
export class FusegateError extends Error {
  override readonly name = 'FusegateError';

  constructor(
    /** HTTP status; 0 where nothing answered, and for a redirection in a browser. */
    readonly status: number,
    /** From the closed list of docs/errors.md; `unprocessable` for a 422, `redirected` and `unreachable`. */
    readonly code: string,
    message: string,
    /** What is wrong with the request, place by place. */
    readonly faults: readonly Fault[] = [],
    /** Seconds until the request would pass, where the server says so. */
    readonly retryAfter?: number,
    /** The request's id in the server's log. */
    readonly requestId?: string,
  ) {
    super(message);
  }

  /** The failure of an answer that names another address, which the client does not ask. */
  static redirected(address: string, answer: Response): FusegateError {
    const named = answer.headers.get('location');
    const place = named ?? 'another address';
    const advice = 'give the client the address where the server itself answers';
    return new FusegateError(answer.status, 'redirected', `${address} redirects to ${place}: ${advice}.`);
  }

  /** The failure that an answer tells. */
  static async of(answer: Response): Promise<FusegateError> {
    const text = await answer.text();
    let body: { detail?: unknown; code?: unknown } = {};
    try {
      body = Object(JSON.parse(text)) as typeof body;
    } catch {
      // A proxy's page: its status says enough.
    }
    const faults = Array.isArray(body.detail) ? body.detail.filter(isFault) : [];
    const told = faults.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
    const message = typeof body.detail === 'string' ? body.detail : told;
    const own = faults.length > 0 ? 'unprocessable' : 'error';
    const code = typeof body.code === 'string' ? body.code : own;
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    return new FusegateError(
      answer.status,
      code,
      message === '' ? `Status ${answer.status}` : message,
      faults,
      Number.isFinite(seconds) ? seconds : undefined,
      answer.headers.get('x-request-id') ?? undefined,
    );
  }
}

const firstWaitMs = 500;

/** Codes of a 503 that the server gives before it does anything. `store_unavailable` may have written. */
const undone: ReadonlySet<string> = new Set(['overloaded', 'storage_reserved']);

/** True where a further try may help; `again`: the request may be sent again though it was perhaps carried out. */
function mayTry({ status, code }: FusegateError, again: boolean): boolean {
  if (status === 429) return true;
  if (!again) return status === 503 && undone.has(code);
  return code === 'unreachable' || [502, 503, 504].includes(status);
}

/** Time before a further try, as the server says or doubling; undefined: there is none. */
export function pauseMs(failure: FusegateError, tried: number, again: boolean): number | undefined {
  const { status, retryAfter } = failure;
  if (!mayTry(failure, again)) return undefined;
  if (retryAfter !== undefined) return retryAfter * 1000;
  // Without it a 429 is a limit that waiting does not lift.
  return status === 429 ? undefined : firstWaitMs * 2 ** tried;
}
