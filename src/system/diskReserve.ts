/** Reserves disk space: anonymous writes are refused before paid ones are. */
import { statfsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Clock, Timer } from './clock.js';
import type { Log } from './log.js';

/** The default reserve: the smaller of 2 GiB and 5 % of the file system. */
const reserveBytes = 2 * 1024 ** 3;
const reserveShare = 0.05;

/** Interval of checking the file system (ms). */
const lookMs = 1_000;

/** Facts of a file system. */
interface Room {
  readonly bsize: number;
  readonly blocks: number;
  readonly bavail: number;
}

/** Parts of a reserve. */
export interface DiskReserveParts {
  readonly folder: string;
  /** Bytes to reserve; 0: none; null: by the size of the file system. */
  readonly bytes: number | null;
  readonly clock: Pick<Clock, 'every'>;
  readonly log: Pick<Log, 'warn' | 'info'>;
  /** Reads the file system's facts for a folder; default: {@link statfs}. */
  readonly look?: (folder: string) => Promise<Room>;
}

/** True if less is left than the reserve. */
export function isLow({ bsize, blocks, bavail }: Room, bytes: number | null): boolean {
  return bavail * bsize < (bytes ?? Math.min(reserveBytes, blocks * bsize * reserveShare));
}

/** Follows the free space of a folder's file system. */
export class DiskReserve {
  private low = false;
  private readonly timer: Timer | undefined;

  constructor(private readonly parts: DiskReserveParts) {
    if (parts.bytes === 0) return;
    this.take(statfsSync(parts.folder));
    this.timer = parts.clock.every(lookMs, () => void this.look());
  }

  /** True if anonymous writes must be refused now. */
  readonly isReserved = (): boolean => this.low;

  /** Checks again. If the file system gives no answer, nothing changes. */
  async look(): Promise<void> {
    try {
      this.take(await (this.parts.look ?? statfs)(this.parts.folder));
    } catch {
      // The readiness check reports that the folder cannot be used.
    }
  }

  stop(): void {
    this.timer?.stop();
  }

  private take(room: Room): void {
    const low = isLow(room, this.parts.bytes);
    if (low === this.low) return;
    this.low = low;
    const { folder, log } = this.parts;
    const freeMb = Math.floor((room.bavail * room.bsize) / 1e6);
    if (low)
      log.warn({ folder, freeMb }, 'little disk space is left: data of callers without a key is not stored');
    else log.info({ folder, freeMb }, 'there is disk space again');
  }
}
