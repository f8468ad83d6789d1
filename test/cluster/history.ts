/**
 * What clients were told, and whether the store at the end agrees with all of it.
 *
 * Everything that is judged is set once: a lead, the receipt of an idempotency key, the key of an order. So
 * is every value. A history of such registers is linearizable exactly if all answers about one name
 * the same value, that value is there at the end, and none that was acknowledged is missing from a read that
 * began later. So comparing answers with each other and with the end is enough, and no search over orders of
 * operations is needed, as for registers that change (Porcupine, Knossos). Logs are held to more: positions
 * without a gap, and a follower that has seen every entry in its place.
 */

/** An entry of a log. */
export interface Entry {
  readonly position: number;
  /** What tells it apart: a lead's id, a fragment's receipt. */
  readonly name: string;
}

/** What clients were told. */
export class History {
  /** Ids of acknowledged leads by their addresses; undefined: sent, and not acknowledged. */
  readonly leads = new Map<string, string | undefined>();
  /** Receipts that an idempotency key was answered with. */
  readonly receipts = new Map<string, Set<string>>();
  /** Raw keys that polls of an order got, as often as they got them. */
  readonly revealed = new Map<string, string[]>();
  /** Acknowledged orders by their payment hashes. */
  readonly orders = new Map<string, string>();
  /** Entries of the log of leads as a follower met them. */
  readonly followed: Entry[] = [];
  /** Answers that no client may get. */
  readonly wrong: string[] = [];
  /** Times at which a lead was acknowledged (ms). */
  readonly acknowledgedMs: number[] = [];
  /** Receipts that a node did not find after another had acknowledged them: it read an old leader. */
  staleReads = 0;
  /** Answers 503 with Retry-After, and requests without an answer of a node. */
  refused = 0;
  unanswered = 0;
  /** Fuse requests that were served. */
  fused = 0;

  /** Notes the receipt that a key was answered with. */
  noteReceipt(key: string, receipt: string): void {
    const receipts = this.receipts.get(key) ?? new Set();
    this.receipts.set(key, receipts.add(receipt));
  }
}

/** What the store has at the end. */
export interface Found {
  /** The log of leads, in order, and its head; the address of each lead by its id. */
  readonly leads: readonly Entry[];
  readonly leadHead: number;
  readonly addresses: ReadonlyMap<string, string>;
  /** The log of fragments, in order, and its head. */
  readonly fragments: readonly Entry[];
  readonly fragmentHead: number;
  /** The place of each receipt in the log. */
  readonly places: ReadonlyMap<string, number>;
  /** The receipt of each idempotency key. */
  readonly bindings: ReadonlyMap<string, string>;
  /** Ids of orders by their payment hashes. */
  readonly orders: ReadonlyMap<string, string>;
}

/** Values that are there more than once. */
function repeated(values: readonly string[]): string[] {
  const seen = new Set<string>();
  return values.filter((value) => seen.size === seen.add(value).size);
}

/** A log whose positions have a gap, or a repeat, or do not end at its head. */
function logProblems(log: string, entries: readonly Entry[], head: number): string[] {
  const problems: string[] = [];
  const wrong = entries.findIndex(({ position }, index) => position !== index + 1);
  if (wrong >= 0) problems.push(`${log}: entry ${wrong + 1} has position ${entries[wrong]?.position}`);
  if (head !== entries.length) problems.push(`${log}: the head is ${head} after ${entries.length} entries`);
  for (const name of repeated(entries.map((entry) => entry.name)))
    problems.push(`${log}: ${name} is there twice`);
  return problems;
}

function leadProblems({ leads }: History, found: Found): string[] {
  const there = new Set(found.leads.map(({ name }) => name));
  const problems: string[] = [];
  for (const [address, id] of leads) {
    if (id !== undefined && !there.has(id)) problems.push(`lead ${id} of ${address} is lost`);
  }
  const addresses = found.leads.map(({ name }) => found.addresses.get(name) ?? name);
  for (const address of repeated(addresses)) problems.push(`${address} has two leads`);
  for (const address of addresses) if (!leads.has(address)) problems.push(`nobody sent ${address}`);
  return problems;
}

function receiptProblems({ receipts }: History, found: Found): string[] {
  const problems: string[] = [];
  const there = new Set(found.fragments.map(({ name }) => name));
  for (const [key, told] of receipts) {
    if (told.size > 1) problems.push(`${key} was answered with ${[...told].join(' and ')}`);
    for (const receipt of told) {
      if (!there.has(receipt)) problems.push(`receipt ${receipt} of ${key} is lost`);
      if (found.bindings.get(key) !== receipt)
        problems.push(`${key} is bound to ${found.bindings.get(key) ?? 'nothing'}, not to ${receipt}`);
    }
  }
  for (const { name, position } of found.fragments) {
    if (found.places.get(name) !== position) problems.push(`${name} has another place than ${position}`);
  }
  return problems;
}

function orderProblems({ orders, revealed }: History, found: Found): string[] {
  const problems: string[] = [];
  for (const [hash, id] of orders) {
    if (found.orders.get(hash) !== id) problems.push(`order ${id} is lost`);
  }
  for (const [hash, keys] of revealed) {
    if (keys.length > 1) problems.push(`the key of order ${hash} was revealed ${keys.length} times`);
  }
  return problems;
}

function followerProblems({ followed }: History, { leads }: Found): string[] {
  const nameAt = new Map(leads.map(({ position, name }) => [position, name]));
  const problems = followed
    .filter(({ position, name }) => nameAt.get(position) !== name)
    .map(({ position, name }) => `a follower saw ${name} at ${position}, where ${nameAt.get(position)} is`);
  const wrong = followed.findIndex(({ position }, index) => position !== index + 1);
  if (wrong >= 0) problems.push(`a follower passed position ${wrong + 1}`);
  if (followed.length < leads.length) problems.push(`a follower missed what is behind ${followed.length}`);
  return problems;
}

/** What is wrong, each as a sentence; nothing where the store kept all that it promised. */
export function problemsOf(history: History, found: Found): string[] {
  return [
    ...history.wrong,
    ...logProblems('leads', found.leads, found.leadHead),
    ...logProblems('fragments', found.fragments, found.fragmentHead),
    ...leadProblems(history, found),
    ...receiptProblems(history, found),
    ...orderProblems(history, found),
    ...followerProblems(history, found),
  ];
}
