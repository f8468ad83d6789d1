/** A page that people can read: no wider than its window, with enough contrast, and accessible. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { assertAccessible } from './axe.js';

/** The lowest contrast (WCAG 2.2) of a visible text with the colour painted below it, and its element. */
const lowestContrast = `(() => {
  const linear = (s) => s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  const part = (value, share) => share * linear(value / 255);
  const luminance = ([r, g, b]) => part(r, 0.2126) + part(g, 0.7152) + part(b, 0.0722);
  const parse = (color) => color.match(/[\\d.]+/g).map(Number);
  const ground = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const texts = 'h1, h2, h3, p, li, a, button, label, caption, th, td, dt, dd, code, mark, span';
  const all = [...document.querySelectorAll(texts)];
  const shown = all.filter((each) => each.checkVisibility() && each.textContent.trim() !== '');
  const [lowest] = shown.map((element) => {
    const colors = [parse(getComputedStyle(element).color), ground(element)];
    const pair = colors.map(luminance).sort((a, b) => b - a);
    return [(pair[0] + 0.05) / (pair[1] + 0.05), element];
  }).sort((a, b) => a[0] - b[0]);
  return lowest && [lowest[0], lowest[1].outerHTML.slice(0, 80)];
})()`;

/** Fails where a text has a contrast below 4.5, or as {@link assertAccessible} does. */
export async function assertReadable(
  page: Page,
  what = page.url(),
  leftOut: readonly 'color-contrast'[] = [],
): Promise<void> {
  const [contrast, where] = await page.evaluate<[number, string]>(lowestContrast);
  assert.ok(contrast >= 4.5, `${what}: contrast ${contrast} of ${where}`);
  await assertAccessible(page, what, leftOut);
}
