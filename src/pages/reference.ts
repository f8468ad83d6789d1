/** An OpenAPI 3.1 document of ours as HTML: a page for each operation, with a form that sends it. */
import type { OpenApiDocument } from '../contract/schema/document.js';
import { escapeHtml } from './page.js';
import { fieldHtml, fieldsHtml, inlineHtml, type Schema, type Schemas } from './schemaFields.js';

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly tags: readonly [string];
  readonly summary: string;
  readonly description: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Media>> }>
  >;
}

/** The rendered parts of a document from `documentOf`. */
interface Described {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly schemas: Schemas };
}

/** One operation of a document. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  /** All of its texts, for the search. */
  readonly words: string;
  /** Renders the page's content. */
  readonly html: () => string;
}

/** A document's operations under one heading. */
export interface Reference {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly operations: readonly Operation[];
}

/** The way to send an operation's form, if it can be sent. */
export interface Sending {
  /** The address that serves the operations, if not this one: another origin, which no form can reach. */
  readonly elsewhere: string | null;
}

function block(code: string, label: string): string {
  return `<pre tabindex="0" role="region" aria-label="${escapeHtml(label)}"><code>${escapeHtml(
    code,
  )}</code></pre>`;
}

function example(value: unknown, label: string): string {
  if (value === undefined) return '';
  return block(shownText(value), label);
}

/** An example as shown and as sent. */
function shownText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

const placeWords = { path: 'in the path', query: 'in the query', header: 'as a header field' };

function parametersHtml(parameters: readonly Parameter[], schemas: Schemas): string {
  if (parameters.length === 0) return '';
  const fields = parameters.map(({ name, in: place, required, description, schema }) => {
    const words = [description, `Sent ${placeWords[place]}.`].filter((each) => each !== undefined);
    return fieldHtml(name, { ...schema, description: words.join(' ') }, required, { schemas, sent: true });
  });
  return `<h2 id="parameters">Parameters</h2>\n<dl class="fields">${fields.join('\n')}</dl>`;
}

/** `inForm`: with script, the form shows the example. */
function bodyHtml({ requestBody }: DescribedOperation, schemas: Schemas, inForm: boolean): string {
  if (requestBody === undefined) return '';
  const [type, media] = Object.entries(requestBody.content)[0] ?? ['*/*', {}];
  const types = Object.keys(requestBody.content).map((each) => `<code>${escapeHtml(each)}</code>`);
  const { schema } = media;
  const shown = example(media.example, 'Example of the body');
  return `<h2 id="body">Body</h2>
<p>${type === '*/*' ? 'Any media type.' : types.join(' or ')}</p>
${inForm ? `<div class="without-script">${shown}</div>` : shown}
${schema === undefined ? '' : fieldsHtml(schema, { schemas, sent: true })}`;
}

function answersHtml({ responses }: DescribedOperation, schemas: Schemas): string {
  const good = Object.entries(responses).filter(([status]) => status < '400');
  const refused = Object.entries(responses).filter(([status]) => status >= '400');
  const shown = good.map(([status, { description, content = {} }]) => {
    const [type = '', media = {}] = Object.entries(content)[0] ?? [];
    const list = media.schema === undefined ? '' : fieldsHtml(media.schema, { schemas, sent: false });
    const fields = list === '' ? '' : `<details><summary>Fields of this answer</summary>${list}</details>`;
    const types = Object.keys(content).map((each) => `<code>${escapeHtml(each)}</code>`);
    return `<h3 id="status-${status}">${status}</h3>
<p>${inlineHtml(description)} ${type === '' ? '' : types.join(' or ')}</p>
${example(media.example, `Example of the answer ${status}`)}${fields}`;
  });
  const rows = refused.map(([status, { description }]) => {
    return `<tr><th scope="row">${status}</th><td>${inlineHtml(description)}</td></tr>`;
  });
  const table = `<h3 id="errors">Errors</h3>
<div class="wide" tabindex="0" role="group" aria-label="Table: errors"><table>
<thead><tr><th scope="col">Status</th>
<th scope="col">Meaning</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>
<p class="note"><a href="/docs/guides/errors">All errors, and what to do about each</a></p>`;
  return `<h2 id="answers">Answers</h2>\n${shown.join('\n')}${rows.length === 0 ? '' : table}`;
}

/** The form that sends an operation; hidden without script. */
function formHtml(method: string, path: string, described: DescribedOperation): string {
  const { parameters = [], requestBody } = described;
  const inputs = parameters.map(({ name, in: place, required, schema }) => {
    const id = `try-${place}-${escapeHtml(name)}`;
    const isKey = name === 'X-API-Key';
    const type = isKey ? 'password' : 'text';
    const label = isKey ? 'API key (X-API-Key), kept in this tab only' : escapeHtml(name);
    const { default: usual = '' } = schema;
    const fallback = typeof usual === 'string' ? usual : JSON.stringify(usual);
    return `<label for="${id}">${label}</label>
<input id="${id}" type="${type}" data-place="${place}" data-name="${escapeHtml(name)}" value="${escapeHtml(
      fallback,
    )}" autocomplete="off" spellcheck="false"${required ? ' required' : ''}>`;
  });
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [undefined, {}];
  const written = media.example === undefined ? '' : escapeHtml(shownText(media.example));
  const sentAs = type === '*/*' ? 'text/plain' : escapeHtml(type ?? '');
  const body =
    type === undefined
      ? ''
      : `<label for="try-body">Body</label>
<textarea id="try-body" rows="10" spellcheck="false" data-type="${sentAs}">${written}</textarea>`;
  return `<section id="try" class="sheet" aria-labelledby="try-title" hidden>
<h2 id="try-title">Try it</h2>
<form data-method="${method}" data-path="${escapeHtml(path)}">
${inputs.join('\n')}
${body}
<p><button>Send ${method}</button></p>
</form>
<p id="try-state" class="state" role="status"></p>
<pre id="try-answer" tabindex="0" role="region" aria-label="Answer" hidden><code></code></pre>
</section>`;
}

function operationHtml(
  method: string,
  path: string,
  described: DescribedOperation,
  schemas: Schemas,
  { elsewhere }: Sending,
): string {
  const { summary, description, parameters = [] } = described;
  const place = elsewhere === null ? '' : `<p class="note">Served at ${escapeHtml(elsewhere)}.</p>`;
  return `<h1>${escapeHtml(summary)}</h1>
<p class="endpoint"><span class="method">${method}</span> <code>${escapeHtml(path)}</code></p>
<p>${inlineHtml(description)}</p>
${place}${parametersHtml(parameters, schemas)}
${bodyHtml(described, schemas, elsewhere === null)}
${elsewhere === null ? formHtml(method, path, described) : ''}
${answersHtml(described, schemas)}`;
}

/** Names and descriptions inside a schema, for the search. */
function wordsOf(value: unknown, schemas: Schemas, seen = new Set<string>()): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    if (name === '$ref' && typeof inner === 'string') {
      const schema = inner.slice(inner.lastIndexOf('/') + 1);
      if (seen.has(schema)) return [];
      seen.add(schema);
      return wordsOf(schemas[schema], schemas, seen);
    }
    if (name === 'example' || name === 'examples' || name === 'headers') return [];
    if (name === 'description' && typeof inner === 'string') return [inner];
    return [name, ...wordsOf(inner, schemas, seen)];
  });
}

/** Reads a document. */
export function referenceOf(document: OpenApiDocument, sending: Sending): Reference {
  const { info, tags, paths, components } = document as unknown as Described;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([name, described]): Operation => {
      const method = name.toUpperCase();
      const { operationId: id, summary, description } = described;
      const { parameters, requestBody, responses } = described;
      const said = wordsOf({ parameters, requestBody, responses }, components.schemas);
      return {
        ...{ id, method, path, summary },
        tag: described.tags[0],
        words: [method, path, summary, description, ...said].join(' '),
        html: () => operationHtml(method, path, described, components.schemas, sending),
      };
    }),
  );
  return { ...info, tags, operations };
}
