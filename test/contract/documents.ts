/** The generated files under `docs`: both OpenAPI documents, one example a route, the configuration. */
import { examples } from '../../src/contract/examples.js';
import { doorDocument, gatewayDocument } from '../../src/contract/openapi.js';
import { renderConfiguration } from '../../src/system/configuration.js';

/** Every generated file's text by its path from the project's folder. */
export function documents(): ReadonlyMap<string, string> {
  const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  const files = new Map([
    ['docs/openapi.json', text(gatewayDocument())],
    ['docs/door-openapi.json', text(doorDocument('/'))],
  ]);
  for (const [route, example] of Object.entries(examples)) {
    files.set(`docs/examples/${route}.json`, text(example));
  }
  files.set('docs/configuration.md', renderConfiguration());
  return files;
}
