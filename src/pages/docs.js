/** The forms of the reference: they send a request as shown, and show the answer. */
const section = document.getElementById('try');

/** Name under which a key is stored while its tab is open, so that it need not be typed on each page. */
const keyPlace = 'fusegate-api-key';

/** The request that a form describes. */
function requestOf(form) {
  const query = new URLSearchParams();
  const headers = {};
  let path = form.dataset.path;
  for (const { dataset, value } of form.querySelectorAll('input')) {
    const { place, name } = dataset;
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value === '') continue;
    else if (place === 'query') query.set(name, value);
    else headers[name] = value;
  }
  const body = form.querySelector('textarea');
  if (body !== null) headers['Content-Type'] = body.dataset.type;
  const url = query.size > 0 ? `${path}?${query}` : path;
  return { url, method: form.dataset.method, headers, ...(body === null ? {} : { body: body.value }) };
}

/** An answer's text; JSON has one member a line. */
function readable(text, type) {
  if (!type.includes('json')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(form) {
  const state = document.getElementById('try-state');
  const answer = document.getElementById('try-answer');
  const { url, ...request } = requestOf(form);
  state.className = 'state';
  state.textContent = 'Waiting for the answer …';
  const began = performance.now();
  try {
    const response = await fetch(url, { ...request, redirect: 'manual' });
    const text = await response.text();
    const time = `${(performance.now() - began).toFixed(1)} ms`;
    const type = response.headers.get('content-type') ?? '';
    const limit = response.headers.get('ratelimit');
    state.className = `state ${response.ok ? 'good' : 'bad'}`;
    const status =
      response.type === 'opaqueredirect' ? 'A redirect' : `${response.status} ${response.statusText}`;
    state.textContent = `${status} in ${time}. ${type}${limit === null ? '' : ` · RateLimit: ${limit}`}`;
    answer.hidden = false;
    answer.firstChild.textContent = readable(text, type);
  } catch {
    state.className = 'state bad';
    state.textContent = 'No answer came from the server. Try again.';
    answer.hidden = true;
  }
}

if (section !== null) {
  section.hidden = false;
  for (const each of document.querySelectorAll('.without-script')) each.hidden = true;
  const form = section.querySelector('form');
  const key = form.querySelector('input[type=password]');
  if (key !== null) {
    key.value = sessionStorage.getItem(keyPlace) ?? '';
    key.addEventListener('change', () => sessionStorage.setItem(keyPlace, key.value));
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}

const here = document.querySelector('.contents [aria-current]');
const list = document.querySelector('.contents');
if (here !== null && list !== null) list.scrollTop = here.offsetTop - list.clientHeight / 3;
