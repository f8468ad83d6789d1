/**
 * Other people's rerank clients, unmodified, each by its own quick-start, against a new server: with a
 * placeholder as its key it orders documents, and if the server refuses a call, its own exception has our
 * sentence.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { startServer } from '../program.js';
import { projectRoot } from '../../support/python.js';
import { peersRequired } from '../required.js';

/** Why the server refuses a call, and the sentence that says so. */
const sentences = {
  key: /This server knows no such API key\./,
  many: /1001 documents were sent, and at most 1000 are taken at once\./,
  large: /The request body is larger than this path takes/,
  limit: /characters a month/,
} as const;
type Refused = keyof typeof sentences;

/** Exceptions by their reason; absent where a client cannot be brought to one, or not in a short time. */
type Exceptions = Readonly<Partial<Record<Refused, string>>>;

/** The exception that a call ended in. */
interface Failure {
  readonly type: string;
  readonly text: string;
}

/** What a client came to, as its program prints it. */
interface Told {
  readonly client: string;
  readonly version?: string;
  readonly order?: readonly number[];
  readonly failures?: Readonly<Partial<Record<Refused, Failure | null>>>;
  readonly error?: string;
}

/** A program that runs clients. */
interface Program {
  readonly name: string;
  readonly command: readonly string[];
  /** The file without which it cannot run, and how to get it. */
  readonly needs: string;
  readonly install: string;
  /** Each client's exceptions where the server refuses. */
  readonly clients: Readonly<Record<string, Exceptions>>;
}

const folder = join(projectRoot, 'test/peers/clients');
const environments = process.env['FUSEGATE_PEERS_DIR'] ?? join(projectRoot, '.peers');

function python(name: string, requirements: string, clients: Program['clients']): Program {
  const environment = join(environments, name);
  const program = join(environment, 'bin/python');
  const list = `test/peers/clients/${requirements}`;
  return {
    name,
    command: [program, join(folder, 'clients.py')],
    needs: program,
    install: `python3 -m venv ${environment} && ${environment}/bin/pip install -r ${list}`,
    clients,
  };
}

const cohereErrors = {
  key: 'cohere.errors.unauthorized_error.UnauthorizedError',
  many: 'cohere.errors.bad_request_error.BadRequestError',
  large: 'cohere.core.api_error.ApiError',
  limit: 'cohere.errors.too_many_requests_error.TooManyRequestsError',
} as const;
/** What stands on Cohere's client tries again for two minutes where a month's characters are used up. */
const overCohere = { key: cohereErrors.key, many: cohereErrors.many, large: cohereErrors.large } as const;
const always = (name: string) => ({ key: name, many: name, large: name, limit: name });
const liteLlm = {
  key: 'litellm.exceptions.AuthenticationError',
  many: 'litellm.exceptions.BadRequestError',
  large: 'litellm.exceptions.BadRequestError',
  limit: 'litellm.exceptions.RateLimitError',
} as const;
/** Node's fetch does not read an answer that comes while it still sends, as that to a body too large does. */
const cohereJs = {
  key: 'UnauthorizedError',
  many: 'BadRequestError',
  limit: 'TooManyRequestsError',
} as const;
const vercel = { key: 'AI_APICallError', many: 'AI_APICallError', limit: 'AI_APICallError' } as const;

const programs: readonly Program[] = [
  python('clients', 'requirements.txt', {
    cohere: cohereErrors,
    'cohere-v1': cohereErrors,
    'langchain-cohere': overCohere,
    'llama-index-cohere': overCohere,
    'llama-index-jina': always('builtins.RuntimeError'),
    'llama-index-tei': always('builtins.AssertionError'),
    // It cuts its documents at 1,000 itself.
    'haystack-cohere': { key: cohereErrors.key, large: cohereErrors.large },
    'haystack-jina': always('builtins.RuntimeError'),
    'haystack-vllm': always('builtins.RuntimeError'),
    // It sends its documents in batches.
    'haystack-tei': {
      key: 'builtins.RuntimeError',
      large: 'builtins.RuntimeError',
      limit: 'builtins.RuntimeError',
    },
    voyageai: {
      key: 'voyageai.error.AuthenticationError',
      many: 'voyageai.error.InvalidRequestError',
      large: 'voyageai.error.APIError',
      limit: 'voyageai.error.RateLimitError',
    },
    'litellm-cohere': liteLlm,
    'litellm-jina': liteLlm,
    'litellm-vllm': { ...liteLlm, large: 'litellm.exceptions.APIError' },
  }),
  python('cohere7', 'requirements-cohere7.txt', { cohere: cohereErrors, 'cohere-v1': cohereErrors }),
  {
    name: 'JavaScript',
    command: [process.execPath, join(folder, 'clients.mjs')],
    needs: join(folder, 'node_modules/cohere-ai/package.json'),
    install: 'npm install --prefix test/peers/clients',
    clients: {
      'cohere-ai': cohereJs,
      'cohere-ai-v1': cohereJs,
      'vercel-cohere': vercel,
      'vercel-voyage': vercel,
      'vercel-voyage-own-path': vercel,
    },
  },
];

/** Clients that do not look at an answer's status: their exception cannot carry a sentence of ours. */
const silent = new Set(['llama-index-tei']);

let base = '';
/** The address of a server that has had as many characters as it takes. */
let limited = '';
before(async () => {
  [base, limited] = await Promise.all([
    startServer({ ANONYMOUS_REQUESTS_PER_MINUTE: '0' }),
    startServer({ ANONYMOUS_CHARACTERS_PER_MONTH: '1' }),
  ]);
  const body = JSON.stringify({ query: 'a', documents: ['b'] });
  const headers = { 'content-type': 'application/json' };
  assert.equal((await fetch(`${limited}/v2/rerank`, { method: 'POST', headers, body })).status, 200);
});

/** What a program prints to standard output; it must end well. */
async function outputOf(file: string, args: readonly string[]): Promise<string> {
  // LiteLLM and Haystack would else ask servers of their own for prices, and count what is run.
  const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True', HAYSTACK_TELEMETRY_ENABLED: 'False' };
  const child = spawn(file, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (out += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (errors += piece));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  assert.equal(code, 0, errors);
  return out;
}

/** What its clients came to, a line each. */
async function runProgram({ command, clients }: Program): Promise<Told[]> {
  const [file = '', ...args] = command;
  const named = file === process.execPath ? [] : Object.keys(clients);
  const out = await outputOf(file, [...args, base, limited, ...named]);
  // LiteLLM prints advice among the lines.
  const lines = out.split('\n').filter((line) => line.startsWith('{"client"'));
  return lines.map((line) => JSON.parse(line) as Told);
}

/** The programs of README.md in a language, each with the output that stands below it. */
function shownIn(language: string): { readonly text: string; readonly output: string }[] {
  const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8');
  const pattern = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`\\n\\n\`\`\`text\\n(.*?)^\`\`\``, 'gms');
  return [...readme.matchAll(pattern)].map(([, text = '', output = '']) => ({ text, output }));
}

/** The address that README.md shows: a server's default port. */
const shownBase = ['http://127.0.0.1', '8080'].join(':');

/** Runs the programs that README.md shows in a language. */
function testReadme(language: string, count: number, program: (text: string) => Promise<string>): void {
  const shown = shownIn(language);
  test(`README.md shows ${count} programs`, () => assert.equal(shown.length, count));
  for (const { text, output } of shown) {
    test(`README.md: ${text.split('\n')[0] ?? ''}`, async () => {
      assert.equal(await program(text.replaceAll(shownBase, base)), output);
    });
  }
}

for (const program of programs) {
  const { name, needs, install, clients } = program;
  const missing = existsSync(needs) ? false : `${needs} is not there. Run: ${install}`;
  if (missing !== false && peersRequired) throw new Error(missing);
  describe(`rerank clients of ${name}`, { skip: missing }, () => {
    let told: readonly Told[] = [];
    before(async () => {
      told = await runProgram(program);
    });
    for (const [client, exceptions] of Object.entries(clients)) {
      test(`${client} orders documents, and raises its own exception`, (context) => {
        const found = told.find((one) => one.client === client);
        assert.ok(found !== undefined, 'it did not run');
        assert.equal(found.error, undefined);
        context.diagnostic(found.version ?? '');
        assert.deepEqual([...(found.order ?? [])].sort(), [0, 1, 2], 'every document is there');
        assert.equal(found.order?.[0], 2);
        for (const reason of Object.keys(exceptions) as Refused[]) {
          const failure: Failure | null | undefined = found.failures?.[reason];
          assert.ok(failure, reason);
          assert.equal(failure.type, exceptions[reason], reason);
          if (!silent.has(client)) assert.match(failure.text, sentences[reason]);
        }
      });
    }
    const [file = ''] = program.command;
    if (name === 'clients') testReadme('python', 5, (text) => outputOf(file, ['-c', text]));
    if (name === 'JavaScript') {
      testReadme('js', 1, (text) => outputOf(file, ['--input-type=module', '-e', text]));
    }
  });
}
