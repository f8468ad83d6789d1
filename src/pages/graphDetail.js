/** The panel of a fragment beside the graph: text, receipt, verification, and near fragments. */

/** An element with a text, which is never parsed as markup. */
function element(name, text = '', className = '') {
  const made = document.createElement(name);
  made.textContent = text;
  if (className !== '') made.className = className;
  return made;
}

function heading(text) {
  return element('h3', text);
}

function paragraphs(fragment) {
  const parts = [
    ['', fragment.content],
    ['Mechanism', fragment.mechanism],
    ['Test', fragment.test],
  ];
  return parts.flatMap(([name, text]) => {
    if (text === '') return [];
    return [...(name === '' ? [] : [heading(name)]), element('p', text, 'text')];
  });
}

/** The meaning of a status, after its name. */
const statusWords = {
  quarantined: 'quarantined: stored and shown as a stranger’s text, which nobody has reviewed',
  probe: 'probe: left by a monitor, and kept out of exploration',
};

function facts(receipt) {
  const list = element('dl');
  const rows = [
    ['Kind', receipt.fragment?.kind.toLowerCase().replaceAll('_', ' ') ?? 'withheld'],
    ['Visitor', receipt.fragment?.visitor ?? 'withheld'],
    ['Received', receipt.envelope?.received_at.replace('T', ' ').replace('Z', ' UTC') ?? 'not recorded'],
    ['Status', statusWords[receipt.status] ?? receipt.status],
  ];
  for (const [name, text] of rows) {
    if (text !== '') list.append(element('dt', name), element('dd', text));
  }
  return list;
}

/** The verdict in words, then each digest with its verdict. */
function verification({ verified, fields, envelope, implementation }) {
  const words = { true: 'matches', false: 'does not match', null: 'cannot be recomputed' };
  const verdict = verified
    ? 'Verified: every digest was recomputed from what is stored, and the seal fits.'
    : 'Not verified: what is stored does not fit its receipt.';
  const list = element('dl');
  for (const [name, fits] of [...Object.entries(fields), ['stored_envelope_sha256', envelope]]) {
    list.append(element('dt', name.replace('_sha256', '').replaceAll('_', ' ')), element('dd', words[fits]));
  }
  return [
    heading('Verification'),
    element('p', verdict, `state ${verified ? 'good' : 'bad'}`),
    list,
    element('p', `Made by the server just now with ${implementation}.`, 'note'),
  ];
}

function neighbours(results, choose) {
  const list = element('ul');
  for (const { receipt, title, similarity } of results) {
    const button = element('button', `${title ?? 'withheld'} · ${similarity.toFixed(2)}`, 'plain');
    button.type = 'button';
    button.addEventListener('click', () => choose(receipt));
    const item = element('li');
    item.append(button);
    list.append(item);
  }
  return results.length === 0 ? [] : [heading('Near it'), list];
}

async function ask(path) {
  const response = await fetch(path, { headers: { accept: 'application/json' } });
  const body = await response.json();
  if (!response.ok)
    throw new Error(typeof body.detail === 'string' ? body.detail : `status ${response.status}`);
  return body;
}

/** Fills the panel with a fragment; resolves to the receipts near it, undefined if that failed. */
async function showDetail(panel, receipt, { choose, close }) {
  const top = element('div', '', 'top');
  const title = element('h2', 'Reading the receipt …');
  title.id = 'detail-title';
  const closing = element('button', 'Close', 'plain');
  closing.type = 'button';
  closing.addEventListener('click', close);
  top.append(title, closing);
  panel.replaceChildren(top);
  panel.hidden = false;
  panel.focus({ preventScroll: true });
  try {
    const query = new URLSearchParams({ receipt, k: '8' });
    const [found, near] = await Promise.all([ask(`/receipt/${receipt}`), ask(`/graph/near?${query}`)]);
    title.textContent = found.fragment?.title ?? 'This fragment is withheld';
    const link = element('a', 'The receipt, with its proof');
    link.href = `/receipt/${receipt}`;
    const whole = element('p');
    whole.append(link);
    panel.append(
      ...(found.fragment === null
        ? [element('p', found.withheld ?? '', 'state bad')]
        : paragraphs(found.fragment)),
      facts(found),
      heading('Receipt'),
      element('code', receipt, 'value'),
      whole,
      ...verification(found.cryptographic_verification),
      ...neighbours(near.results, choose),
    );
    return near.results.map((each) => each.receipt);
  } catch (error) {
    title.textContent = 'The receipt could not be read';
    panel.append(element('p', `${error.message} Nothing was changed; choose it again.`, 'state bad'));
    return undefined;
  }
}
