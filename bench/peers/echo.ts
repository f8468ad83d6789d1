/** The ceiling: a bare uWebSockets.js server that answers POST with the body's own bytes. Argument: port. */
import { loadUws } from '../../src/http/uws.js';

const port = Number(process.argv[2]);

loadUws()
  .App()
  .get('/health', (response) => {
    response.end('ok');
  })
  .post('/*', (response, request) => {
    const declared = Number(request.getHeader('content-length'));
    let body: Uint8Array | undefined;
    let length = 0;
    response.onAborted(() => (body = undefined));
    response.onData((chunk, last) => {
      // A body in one piece is answered from uWebSockets.js' own buffer, one in several is copied once: with
      // more than that an echo would be no ceiling.
      if (last && length === 0) {
        response.writeHeader('content-type', 'application/json').end(chunk);
        return;
      }
      body ??= Buffer.allocUnsafeSlow(declared);
      body.set(new Uint8Array(chunk), length);
      length += chunk.byteLength;
      const whole = body;
      if (!last) return;
      response.cork(() => {
        response.writeHeader('content-type', 'application/json').end(whole);
      });
    });
  })
  .listen('127.0.0.1', port, (socket) => {
    if (socket === false) throw new Error(`port ${port} cannot be had`);
  });
