/** What an attack is, how its outcome is described, and how many requests are sent at once. */
import { openFrom, type World } from './world.js';
import type { RawClient } from '../support/raw.js';

/** What an attack came to. */
export interface Outcome {
  /** What the figure counts. */
  readonly what: string;
  readonly figure: number;
  /** The most that the figure may be. */
  readonly bound: number;
}

/** One attack. */
export interface Attack {
  readonly name: string;
  readonly play: (world: World) => Promise<readonly Outcome[]>;
}

/** Field of a JSON body. */
export const json = { 'Content-Type': 'application/json' };
export const MiB = 1 << 20;

/** Sends requests over so many connections at once, each from an address of its own; statuses in sum. */
export async function flood(
  { port }: World,
  lanes: number,
  each: number,
  request: (lane: number, at: number) => { readonly from: string; readonly bytes: string | Uint8Array },
): Promise<Map<number, number>> {
  const sum = new Map<number, number>();
  const lane = async (number: number): Promise<void> => {
    let client: RawClient | undefined;
    for (let at = 0; at < each; at += 1) {
      const { from, bytes } = request(number, at);
      try {
        client ??= await openFrom(port, from);
        const answer = await client.send(bytes).response();
        sum.set(answer.status, (sum.get(answer.status) ?? 0) + 1);
        if (answer.headers.get('connection') !== 'close') continue;
      } catch {
        sum.set(0, (sum.get(0) ?? 0) + 1);
      }
      client?.destroy();
      client = undefined;
    }
    client?.destroy();
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  return sum;
}

/** Requests that were answered with 500: a fault of ours. */
export function faults(seen: ReadonlyMap<number, number>): Outcome {
  return { what: 'answers of 500', figure: seen.get(500) ?? 0, bound: 0 };
}
