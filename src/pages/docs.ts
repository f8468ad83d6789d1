/** `GET /docs`: Swagger UI on the service's own OpenAPI document, under a strict Content Security Policy. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notFound } from '../contract/answer.js';
import type { Answer, RouteRequest } from '../contract/exchange.js';

const ownFolder = fileURLToPath(new URL('../../../src/pages', import.meta.url));
const packageFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

/** The files under `/docs/`: where each lies and what it is. */
const files: readonly (readonly [name: string, folder: string, type: string])[] = [
  ['docs.css', ownFolder, style],
  ['docs.js', ownFolder, script],
  ['swagger-ui.css', packageFolder, style],
  ['swagger-ui-bundle.js', packageFolder, script],
  ['favicon-32x32.png', packageFolder, 'image/png'],
];

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Fusegate reference</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/docs.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/docs.js" defer></script>
</head>
<body>
<main id="reference">
<h1>Fusegate reference</h1>
<p>This page needs JavaScript to show the reference. The same description, for programs:
<a href="/openapi.json">/openapi.json</a>.</p>
</main>
</body>
</html>
`;

/** Nothing from elsewhere, nothing inline. `data:` images are the icons inside the package's style sheet. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const pageAnswer: Answer = {
  status: 200,
  body: { bytes: page, type: 'text/html; charset=utf-8' },
  headers: {
    'content-security-policy': contentSecurityPolicy,
    'referrer-policy': 'no-referrer',
  },
  charge: 0,
};

/** The handlers of the reference page and its files. */
export interface DocsHandlers {
  readonly docs: () => Answer;
  readonly docsFile: (request: RouteRequest) => Answer;
}

/** Reads the page's files into memory, once. */
export function docsHandlers(): DocsHandlers {
  const answers = new Map(
    files.map(([name, folder, type]): [string, Answer] => {
      const headers = { 'cache-control': 'public, max-age=3600' };
      const bytes = new Uint8Array(readFileSync(join(folder, name)));
      const body = { bytes, type, immutable: true } as const;
      return [name, { status: 200, body, headers, charge: 0 }];
    }),
  );
  return {
    docs: () => pageAnswer,
    docsFile: ({ path }) => answers.get(path['file'] ?? '') ?? notFound(),
  };
}
