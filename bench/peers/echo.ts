/**
 * The ceiling: a bare uWebSockets.js server that answers POST with the body's own bytes. Arguments: port, and
 * for how long (µs) it computes before each answer; absent: not at all.
 */
import { loadUws } from '../../src/http/uws.js';

const [port = 0, busyUs = 0] = process.argv.slice(2).map(Number);

/** Keeps the thread for as long as asked. */
function compute(): void {
  if (busyUs === 0) return;
  const endMs = performance.now() + busyUs / 1_000;
  while (performance.now() < endMs);
}

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
      if (last) compute();
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
