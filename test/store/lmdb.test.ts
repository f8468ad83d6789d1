/** The store's contract on LMDB. */
import { temporaryFolder } from '../processes/run.js';
import { conformance } from './conformance.js';

conformance({
  name: 'LMDB',
  skip: false,
  fresh: () => Promise.resolve(`lmdb:${temporaryFolder()}/store`),
});
