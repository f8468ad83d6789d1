/** The ceiling: a bare uWebSockets.js server that answers POST with the body's own bytes. Argument: port. */
import { loadUws } from '../../src/http/uws.js';

const port = Number(process.argv[2]);

loadUws()
  .App()
  .get('/health', (response) => {
    response.end('ok');
  })
  .post('/*', (response) => {
    const chunks: Buffer[] = [];
    response.onAborted(() => (chunks.length = 0));
    response.onData((chunk, last) => {
      // A body in one piece is answered from uWebSockets.js' own buffer, without a copy.
      if (last && chunks.length === 0) {
        response.writeHeader('content-type', 'application/json').end(chunk);
        return;
      }
      chunks.push(Buffer.from(chunk.slice(0)));
      if (!last) return;
      response.cork(() => {
        response.writeHeader('content-type', 'application/json').end(Buffer.concat(chunks));
      });
    });
  })
  .listen('127.0.0.1', port, (socket) => {
    if (socket === false) throw new Error(`port ${port} cannot be had`);
  });
