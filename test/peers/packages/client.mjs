/**
 * The TypeScript client as it is installed, against a server, and against one that refuses at first.
 *
 * Usage: client.mjs BASE_URL REFUSING_URL, in a folder that has the package; prints a line of JSON.
 */
import { Fusegate, FusegateError, verifyReceipt } from 'fusegate-client';

const [base, refusing] = process.argv.slice(2);
const client = new Fusegate({ baseUrl: `${base}/` });
const writes = 'limited overloaded reserved unavailable proxied gateway closed slow'.split(' ');
const documents = ['a hat', 'boots'];
const told = {};

async function failure(call) {
  const error = await call.then(
    () => undefined,
    (reason) => reason,
  );
  if (!(error instanceof FusegateError)) throw error ?? new Error('it did not fail');
  return [error.status, error.code, error.retryAfter ?? null, error.message];
}

const docs = documents.map((text, place) => ({ id: 'ab'[place], text }));
told.fuse = (await client.fuse({ query: 'boots', docs, top_k: 1 })).results[0].id;
told.rerank = (await client.rerank({ query: 'boots', documents, top_n: 1 })).results[0].index;
told.normalize = (await client.normalize({ text: 'CafÃ©', max_changes: 0 })).changes_truncated;
told.audit = (await client.audit({ records: ['CafÃ©'], include_html: false })).headline.share === 1;
const put = await client.putCorpus('typescript', documents, { analyzer: 'english' });
const { versions } = await client.corpus('typescript');
told.corpus = [put.docs, versions.length, (await client.removeCorpus('typescript')).removed];
const setUp = await client.putProfile('typescript', { weights: { bm25: 1, dense: 0 }, analyzer: 'english' });
const named = await client.fuse({ query: 'boot', docs, profile: 'typescript' });
const stored = (await client.profile('typescript')).versions[0];
const { removed } = await client.removeProfile('typescript');
told.profile = [setUp.version === stored.version, named.results[0].id, stored.settings.analyzer, removed];
const fragment = { title: 'TypeScript', content: 'A lattice of joints' };
const first = await client.submit(fragment, { idempotencyKey: 'typescript' });
const again = await client.submit(fragment, { idempotencyKey: 'typescript' });
told.submit = [first.status, again.receipt === first.receipt];
told.keys = [];
for (const idempotencyKey of ['ключ', 'ü1']) {
  const own = { title: idempotencyKey, content: 'Of TypeScript' };
  const { status } = await client.submit(own, { idempotencyKey });
  const header = { 'content-type': 'application/json' };
  const body = JSON.stringify({ ...own, idempotency_key: idempotencyKey });
  const answer = await fetch(`${base}/dream`, { method: 'POST', headers: header, body });
  told.keys.push(status, answer.headers.get('idempotent-replayed'));
}
const receipt = await client.receipt(first.receipt);
const changed = { ...receipt, fragment: { ...receipt.fragment, content: 'Another' } };
told.verify = [(await verifyReceipt(receipt)).verified, (await verifyReceipt(changed)).verified];
told.confirm = (
  await client.confirm(await client.preview({ title: 'Preview', content: 'Of TypeScript' }))
).status;
told.near = (await client.near({ text: 'lattice', k: 1 })).search;
told.unprocessable = await failure(client.fuse({ query: 'boots', docs: [] }));
told.missing = (await failure(client.receipt('fr_nothing'))).slice(0, 2);
const wrong = new Fusegate({ baseUrl: base, apiKey: 'fg_wrong' });
told.key = (await failure(wrong.rerank({ query: 'boots', documents }))).slice(0, 2);
const lined = new Fusegate({ baseUrl: base, apiKey: ' fg_wrong\r\n' });
told.lined = (await failure(lined.rerank({ query: 'boots', documents }))).slice(0, 2);
told.unsendable = ['fg_a\nb', 'fg_a b', 'fg_ключ'].map((apiKey) => {
  try {
    return new Fusegate({ apiKey });
  } catch (error) {
    return error instanceof TypeError && !error.message.includes(apiKey);
  }
});
const patient = new Fusegate({ baseUrl: refusing });
told.retried = (await patient.submit({ title: 'a', content: 'b' })).receipt;
told.writes = {};
const hasty = new Fusegate({ baseUrl: refusing, timeoutMs: 500 });
for (const name of writes) {
  const [put] = await failure(hasty.putProfile(`typescript_${name}`, {}));
  const [removed] = await failure(hasty.removeProfile(`typescript_${name}`));
  told.writes[name] = [put, removed];
}
told.late = (await failure(patient.normalize({ text: 'late' }))).slice(0, 3);
const moved = new Fusegate({ baseUrl: `${refusing}/moved`, apiKey: 'fg_secret' });
told.moved = (await failure(moved.normalize({ text: 'secret' }))).slice(0, 2);
told.foreign = [];
for (let count = 0; count < 6; count += 1) {
  const [status, code] = await failure(patient.rerank({ query: 'boots', documents }));
  told.foreign.push(`${status} ${code}`);
}
const ended = AbortSignal.abort(new Error('no more'));
told.aborted = await client.limits({ signal: ended }).catch((reason) => reason.message);
console.log(JSON.stringify(told));
