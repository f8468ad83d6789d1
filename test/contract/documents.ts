/** The generated files under `docs`: both OpenAPI documents, one example a route, the configuration. */
import { renderConfiguration } from '../../src/system/configuration.js';
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
  files.set('docs/configuration.md', renderConfiguration());
  return files;
}
