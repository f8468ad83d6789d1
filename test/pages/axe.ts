/** Pages by axe-core, the engine of accessibility rules (WCAG 2.2 and best practices), in the browser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const engine = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What passes is not described: nobody reads it, and it takes longer than the rules. */
const options = { resultTypes: ['violations'], selectors: false, elementRef: false };

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/**
 * Asserts that a page as it stands breaks no rule of axe-core and is not wider than its window. `leftOut`:
 * rules that the caller checks in a shorter way.
 */
export async function assertAccessible(
  page: Page,
  what = page.url(),
  leftOut: readonly 'color-contrast'[] = [],
): Promise<void> {
  await page.evaluate(engine);
  const rules = Object.fromEntries(leftOut.map((rule) => [rule, { enabled: false }]));
  const run = `axe.run(${JSON.stringify({ ...options, rules })})`;
  const { violations } = await page.evaluate<{ violations: Violation[] }>(run);
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
  assert.deepEqual(found, [], what);
  const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  assert.ok(overflow <= 0, `${what} is ${overflow} px wider than the window`);
}
