/** Policies of the cosignatures that a checkpoint must carry: C2SP tlog-policy. */
import { cosignaturesOf } from './cosignature.js';
import { parseVerifierKey, type VerifierKey } from './note.js';
import { stripEnd } from '../system/strip.js';

/** A witness of a policy. */
export interface PolicyWitness {
  /** Its name in the policy. */
  readonly name: string;
  readonly key: VerifierKey;
  /** Prefix of `/add-checkpoint`; null: this witness is not asked. */
  readonly url: string | null;
}

/** A group: satisfied by at least `least` of its members. */
interface Group {
  readonly least: number;
  readonly members: readonly string[];
}

/** A policy. */
export interface Policy {
  readonly logs: readonly VerifierKey[];
  readonly witnesses: readonly PolicyWitness[];
  readonly groups: ReadonlyMap<string, Group>;
  /** A witness or a group; null: no cosignature is required. */
  readonly quorum: string | null;
}

/** A policy while it is parsed, line by line. */
class Reading {
  readonly logs: VerifierKey[] = [];
  readonly witnesses: PolicyWitness[] = [];
  readonly groups = new Map<string, Group>();
  private readonly members = new Set<string>();
  quorum: string | null | undefined;

  /** Parses a line's words; returns a sentence part if they are wrong. */
  take([keyword, ...rest]: readonly string[]): string | undefined {
    if (keyword === 'log') return this.log(rest);
    if (keyword === 'witness') return this.witness(rest);
    if (keyword === 'group') return this.group(rest);
    if (keyword === 'quorum') return this.takeQuorum(rest);
    return 'does not begin with log, witness, group or quorum';
  }

  private isNamed(name: string): boolean {
    return this.groups.has(name) || this.witnesses.some((witness) => witness.name === name);
  }

  private isNew(name: string): boolean {
    return name !== 'none' && !this.isNamed(name);
  }

  private log([vkey = '', , more]: readonly string[]): string | undefined {
    const key = parseVerifierKey(vkey);
    if (key === undefined || more !== undefined) return 'has no verifier key of an Ed25519 log';
    if (this.logs.some(({ publicKey }) => isSame(publicKey, key.publicKey)))
      return 'has a log for the second time';
    this.logs.push(key);
    return undefined;
  }

  private witness([name = '', vkey = '', url, more]: readonly string[]): string | undefined {
    const key = parseVerifierKey(vkey, 'witness');
    if (key === undefined || more !== undefined) return 'has no verifier key of an Ed25519 witness';
    const isKnown = this.witnesses.some((each) => isSame(each.key.publicKey, key.publicKey));
    if (isKnown || !this.isNew(name)) return 'has a name or key for the second time';
    if (url !== undefined && !URL.canParse(url)) return 'has an address that is no URL';
    this.witnesses.push({ name, key, url: url === undefined ? null : stripEnd(url, '/') });
    return undefined;
  }

  private group([name = '', threshold = '', ...members]: readonly string[]): string | undefined {
    if (!this.isNew(name) || members.length === 0) return 'has no new name, or no members';
    const least =
      { any: 1, all: members.length }[threshold] ?? Number(/^[1-9]\d{0,2}$/.exec(threshold)?.[0] ?? NaN);
    if (!(least <= members.length)) return 'has no threshold that its members can reach';
    for (const member of members) {
      if (!this.isNamed(member)) return `names ${member}, which no line before it defines`;
      if (this.members.has(member)) return `names ${member}, which is a member already`;
      this.members.add(member);
    }
    this.groups.set(name, { least, members });
    return undefined;
  }

  private takeQuorum([name, ...more]: readonly string[]): string | undefined {
    if (name === undefined || more.length > 0) return 'has no quorum, or more than one';
    if (this.quorum !== undefined) return 'is a second quorum';
    if (name !== 'none' && !this.isNamed(name)) return `names ${name}, which no line before it defines`;
    this.quorum = name === 'none' ? null : name;
    return undefined;
  }
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

/** Parses a policy; `wrong` is a sentence part. */
export function parsePolicy(text: string): Policy | { readonly wrong: string } {
  const reading = new Reading();
  for (const [at, line] of text.split('\n').entries()) {
    const words = line.split(/[ \t]+/).filter((word) => word !== '');
    if (words.length === 0 || words[0]?.startsWith('#') === true) continue;
    const wrong = reading.take(words);
    if (wrong !== undefined) return { wrong: `has line ${at + 1}, which ${wrong}` };
  }
  const { logs, witnesses, groups, quorum } = reading;
  return quorum === undefined ? { wrong: 'has no quorum' } : { logs, witnesses, groups, quorum };
}

/** True if cosignatures of these witnesses satisfy the policy. */
export function isMet({ groups, quorum }: Policy, cosigned: ReadonlySet<string>): boolean {
  const holds = (name: string): boolean => {
    const group = groups.get(name);
    if (group === undefined) return cosigned.has(name);
    return group.members.filter(holds).length >= group.least;
  };
  return quorum === null || holds(quorum);
}

/** True if a checkpoint carries the cosignatures that a policy requires. */
export function isCosigned(policy: Policy, note: string): boolean {
  const cosigned = policy.witnesses.filter(({ key }) => cosignaturesOf(note, [key]).length > 0);
  return isMet(policy, new Set(cosigned.map(({ name }) => name)));
}
