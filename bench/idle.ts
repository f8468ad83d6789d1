/** Connections that do nothing: how many there are, their memory, and a customer's requests beside them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureIdle } from '../test/attack/idle.js';
import { projectRoot } from '../test/support/python.js';
import { machine } from './machine.js';
import type { RecordOptions } from './options.js';

/** Options of the command. */
export type IdleOptions = RecordOptions;

/** Opens them, prints and records; the exit code is 2 where a request beside them was refused. */
export async function benchIdle({ json, record }: IdleOptions): Promise<number> {
  const figures = await measureIdle();
  const at = new Date();
  const document = { what: 'idle connections', at, machine: machine(), ...figures };
  if (json) console.log(JSON.stringify(document, null, 2));
  else {
    const { open, bytesEach, kernelBytesEach, refused, beforeMs, besideMs } = figures;
    console.log(`${open} idle connections: ${bytesEach} bytes each, and ${kernelBytesEach} of the kernel's`);
    console.log(`beside them ${refused} requests refused; 99 % within ${besideMs.toFixed(1)} ms,`);
    console.log(`before them within ${beforeMs.toFixed(1)} ms`);
  }
  if (record) {
    const file = join(projectRoot, 'bench/record', `${at.toISOString().slice(0, 10)}-idle.json`);
    writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
  }
  return figures.refused === 0 ? 0 : 2;
}
