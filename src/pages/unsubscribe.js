/** Opts out within the page. Without this script the form does the same, and the answer is a page. */
const form = document.querySelector('form');
const failed = document.getElementById('failed');
const done = document.getElementById('done');

form?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.disabled = true;
  failed.textContent = '';
  failed.className = '';
  let unsubscribed = false;
  try {
    const response = await fetch(form.action, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams(new FormData(form)),
    });
    unsubscribed = response.ok && (await response.json()).unsubscribed === true;
  } catch {
    // No answer: reported below like any other failure.
  }
  if (unsubscribed) {
    document.getElementById('question').hidden = true;
    done.hidden = false;
    document.title = done.querySelector('h1').textContent;
    done.focus();
    return;
  }
  button.disabled = false;
  failed.className = 'state bad';
  failed.textContent = 'That did not work. Please press the button again in a moment.';
});
