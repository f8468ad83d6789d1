/**
 * The generated files under `docs`: both OpenAPI documents, an example for each route, configuration,
 * mistakes.
 */
import { settings } from '../../src/configuration.js';
import { renderSettings } from '../../src/system/settings.js';
import { wrongCommandLines } from '../vectors/wrongCommandLines.js';
import { wrongRequests } from '../vectors/wrongRequests.js';
import { door, examples, gateway } from '../support/examples.js';

/** Text as code in a cell of a table. */
function code(text: string): string {
  return text === '' ? 'none' : `\`${text.replaceAll('\n', ' ').replaceAll('|', '\\|')}\``;
}

/** The page `docs/mistakes.md`. */
function mistakes(): string {
  const requests = wrongRequests.map(({ method, path, body = '', headers = {}, status, says }) => {
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const sent = [`${method} ${path}`, ...fields, ...(body === '' ? [] : [body])].map(code).join(' ');
    return `| ${sent} | ${status} | ${code(says)} |`;
  });
  const lines = wrongCommandLines.map(([args, fault, next]) => {
    return `| ${code(`fusegate ${args}`.trim())} | ${code(fault)} | ${code(next)} |`;
  });
  return [
    '# Mistakes and their answers',
    '',
    'Each of these is sent to a server, or given to the command line, by the tests. [errors.md](errors.md)',
    'lists all codes.',
    '',
    '## Requests',
    '',
    'An answer is shown by its sentence, or by the place and the words of each of its errors, with the hint',
    'of `ctx` in brackets. The answers to wrong settings and to callers over a limit are in',
    '[configuration.md](configuration.md) and [keys.md](keys.md).',
    '',
    '| request | status | answer |',
    '| --- | --- | --- |',
    ...requests,
    '',
    '## Command lines',
    '',
    'A wrong command line ends with exit code 2.',
    '',
    '| command line | fault | next step |',
    '| --- | --- | --- |',
    ...lines,
    '',
  ].join('\n');
}

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
  files.set('docs/mistakes.md', mistakes());
  return files;
}
