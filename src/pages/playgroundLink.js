/** The playground's state in a URL's fragment (RFC 3986, 3.5), which browsers never send to a server. */

const name = '#playground=';

async function through(bytes, stream) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

/** A state as a fragment: JSON, deflated, base64url. */
export async function toFragment(state) {
  const bytes = await through(JSON.stringify(state), new CompressionStream('deflate-raw'));
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return name + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The state from a fragment; undefined if it cannot be decoded. */
export async function fromFragment(fragment) {
  if (!fragment.startsWith(name)) return undefined;
  try {
    const binary = atob(fragment.slice(name.length).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    const json = await through(bytes, new DecompressionStream('deflate-raw'));
    const state = JSON.parse(new TextDecoder().decode(json));
    return typeof state === 'object' && state !== null ? state : undefined;
  } catch {
    return undefined;
  }
}
