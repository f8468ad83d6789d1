/**
 * The program of a worker and of the embedder, which `fusegate serve` starts. It loads none of the commands,
 * which would take as long as loading a server.
 */
import { embed, work } from './compose/children.js';

const [role, logFormat] = process.argv.slice(2);
if (process.send !== undefined && role === 'worker') work(logFormat);
else if (process.send !== undefined && role === 'embedder') embed(logFormat);
else {
  console.error('This program is started by fusegate serve. Run fusegate serve.');
  process.exitCode = 2;
}
