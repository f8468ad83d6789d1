/** A key, shown once. */
import { escapeHtml } from './page.js';

function endOf(expiresAt: string | null): string {
  if (expiresAt === null) return 'It has no end.';
  return `It works until <time datetime="${expiresAt}">${new Date(expiresAt).toUTCString()}</time>.`;
}

/** The key with instructions, as HTML. `expiresAt`: its expiry; null: never. */
export function keyShown(key: string, tier: string, expiresAt: string | null): string {
  return `<div id="key" tabindex="-1">
<h2>Your key</h2>
<p class="value key">${escapeHtml(key)}</p>
<p class="actions"><button type="button" class="copy" data-copy="${escapeHtml(key)}" hidden>Copy key</button>
<a class="button" id="download" data-key="${escapeHtml(key)}" data-name="fusegate-${escapeHtml(tier)}.txt"
hidden>Download</a></p>
<p class="state bad">It is shown only now: this server stores no copy. If you lose it, you need the order’s
claim token to get another. Save it before you leave this page.</p>
<p>${endOf(expiresAt)}</p>
<h2>Use it</h2>
<p>Send it as <code>X-API-Key</code>, for example:</p>
<pre tabindex="0" role="region" aria-label="A request with your key"><code>curl -s <span
class="origin">ADDRESS</span>/v1/fuse -H 'Content-Type: application/json' \\
  -H 'X-API-Key: ${escapeHtml(key)}' -d '{"query": "red shoe", "docs": [
    {"id": "a", "text": "blue shoe", "dense_score": 0.9},
    {"id": "b", "text": "red shoe", "dense_score": 0.8}]}'</code></pre>
<p>Every answer says in its <code>RateLimit</code> fields what is left this minute;
<a href="/usage">the usage page</a> and <code>GET /v1/usage</code> show what is left this month.
<a href="/docs/guides/keys">How limits and characters are counted</a></p>
</div>`;
}
