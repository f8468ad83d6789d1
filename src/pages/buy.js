/** Updates an order's page, copies, counts down, and warns before an unsaved key is lost. */
const watchMs = 2_000;
/** The page of a card payment polls for 10 minutes, an order's for longer than it can be paid. */
const watchedForMs = location.pathname === '/card/success' ? 600_000 : 7_200_000;
const began = Date.now();
let kept = true;
let refreshing = false;
/** True once the key was requested: its answer comes only once, so no other may replace it. */
let asked = false;

function enhance() {
  for (const button of document.querySelectorAll('button.copy')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      const words = button.textContent;
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = words), 1_500);
      if (button.closest('#key') !== null) kept = true;
    });
  }
  const download = document.getElementById('download');
  if (download !== null) {
    download.hidden = false;
    download.download = download.dataset.name;
    download.href = URL.createObjectURL(new Blob([`${download.dataset.key}\n`], { type: 'text/plain' }));
    download.addEventListener('click', () => (kept = true));
  }
  const key = document.getElementById('key');
  if (key !== null) {
    kept = false;
    key.focus();
  }
  for (const place of document.querySelectorAll('.origin')) place.textContent = location.origin;
  countDown();
}

function countDown() {
  for (const left of document.querySelectorAll('.left')) {
    const seconds = Math.max(0, Math.floor((Date.parse(left.dataset.until) - Date.now()) / 1_000));
    const text = ` (${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left)`;
    left.textContent = seconds === 0 ? '' : text;
  }
}

/** True if the page must not change: it shows a key, or the state in which the key was requested. */
const stays = () => asked || document.getElementById('key') !== null;

/** Shows the server's current page; one request at a time, as each answer may be the one with the key. */
async function refresh() {
  if (refreshing || stays()) return;
  refreshing = true;
  try {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' } });
    const next = new DOMParser().parseFromString(await response.text(), 'text/html');
    const [from, to] = [document.getElementById('order'), next.getElementById('order')];
    if (stays() || from === null || to === null || from.dataset.shown === to.innerHTML) return;
    to.dataset.shown = to.innerHTML;
    from.replaceWith(to);
    document.title = next.title;
    enhance();
  } catch {
    // No answer: the next poll may get one.
  } finally {
    refreshing = false;
  }
}

const order = document.getElementById('order');
if (order !== null) order.dataset.shown = order.innerHTML;
enhance();
setInterval(countDown, 1_000);
const watching = setInterval(() => {
  if (Date.now() - began > watchedForMs) clearInterval(watching);
  else void refresh();
}, watchMs);
addEventListener('submit', (event) => {
  if (asked) event.preventDefault();
  asked = true;
});
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) asked = false;
});
addEventListener('beforeunload', (event) => {
  if (!kept) event.preventDefault();
});
