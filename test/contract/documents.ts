/** The generated files under `docs`: both OpenAPI documents, one example a route, the configuration. */
import { settings } from '../../src/configuration.js';
import { renderSettings } from '../../src/system/settings.js';
import { door, examples, gateway } from './examples.js';

/** Every generated file's text by its path from the project's folder. */
export function documents(): ReadonlyMap<string, string> {
  const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  const files = new Map([
    ['docs/openapi.json', text(gateway())],
    ['docs/door-openapi.json', text(door('/'))],
  ]);
  for (const [route, example] of Object.entries(examples)) {
    files.set(`docs/examples/${route}.json`, text(example));
  }
  files.set('docs/configuration.md', renderSettings(settings));
  return files;
}
