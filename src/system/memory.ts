/** The memory that this process may use. */
import { totalmem } from 'node:os';

/** Memory of the machine, or of its container if that has less (bytes). */
export function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
