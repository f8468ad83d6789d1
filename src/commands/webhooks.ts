/**
 * `fusegate webhooks add|list|test|remove`: manages where a server sends events of orders, keys and leads.
 */
import type { Command } from 'commander';
import { eventTypes } from '../outreach/events.js';
import { messageHead, webhookSecret } from '../outreach/webhookMessage.js';
import type { Send } from '../outreach/webhooks.js';
import { parseTarget } from '../outreach/webhookTarget.js';
import {
  addWebhook,
  allWebhooks,
  findWebhook,
  removeWebhook,
  waitingDeliveries,
  type Webhook,
} from '../store/tables/webhooks.js';
import { timeText } from '../system/clock.js';
import { parseNetwork } from '../system/network.js';
import { secretId } from '../system/masterSecret.js';
import { reasonOf } from '../system/reason.js';
import { beginReveal } from './reveal.js';
import { printable } from './printable.js';
import { withStore, type CommandContext, type CommandParts } from './withStore.js';

/** Dependencies of the commands besides the store. */
export interface WebhooksCommandParts extends CommandParts {
  /** A sender that may reach these private networks, too. */
  readonly senderTo: (networks: readonly string[]) => Send;
}

type Ended = Promise<number | { readonly wrong: string }>;

interface Json {
  readonly json?: boolean;
}

interface AddOptions extends Json {
  readonly event?: readonly string[];
}

/** A webhook for display. */
function shown({ id, url, types, status, reason, createdAtMs }: Webhook): object {
  const events = types.length === 0 ? eventTypes : types;
  return { id, url, events, status, reason, created_at: timeText(createdAtMs) };
}

function absent(id: string): { readonly wrong: string } {
  return { wrong: `There is no webhook ${id}. See them all: fusegate webhooks list` };
}

async function add(
  parts: WebhooksCommandParts,
  { store, secrets, configuration, named }: CommandContext,
  text: string,
  { event: types = [], json }: AddOptions,
): Ended {
  const networks = configuration.webhookNetworks.flatMap((each) => parseNetwork(each) ?? []);
  const target = parseTarget(text, networks);
  if ('wrong' in target) return target;
  const unknown = types.find((type) => !eventTypes.some((each) => each === type));
  if (unknown !== undefined) {
    return { wrong: `There is no event ${unknown}. The events are ${eventTypes.join(', ')}.` };
  }
  const webhook: Webhook = {
    id: `wh_${parts.randomness(10).toString('hex')}`,
    url: target.url.href,
    types: [...new Set(types)],
    status: 'active',
    reason: null,
    createdAtMs: parts.clock.wallMs(),
    secretId: secretId(secrets[0]),
  };
  const first = json === true ? '{' : 'Webhook ';
  const unseen = await beginReveal(parts, first);
  if (unseen !== undefined) return { wrong: unseen };
  await addWebhook(store, webhook);
  named(webhook.id);
  const secret = webhookSecret(secrets, webhook) ?? '';
  const made =
    json === true
      ? `${JSON.stringify({ ...shown(webhook), secret })}\n`
      : `Webhook ${webhook.id} gets every ${webhook.types.join(', ') || 'event'} from now on. Its receiver ` +
        `verifies them by this secret, which is shown this once:\n${secret}\n` +
        `Try it: fusegate webhooks test ${webhook.id}\n`;
  await parts.write(made.slice(first.length));
  return 0;
}

async function list(parts: WebhooksCommandParts, { store }: CommandContext, { json }: Json): Ended {
  const unreadable: { readonly id: string | undefined; readonly reason: string }[] = [];
  const webhooks = await allWebhooks(
    store,
    ({ message: reason }, id) => void unreadable.push({ id, reason }),
  );
  for (const webhook of webhooks) {
    const { length: waiting } = await waitingDeliveries(store, webhook.id);
    if (json === true) {
      await parts.write(`${JSON.stringify({ ...shown(webhook), waiting })}\n`);
      continue;
    }
    const { id, url, types, status, reason } = webhook;
    const state = reason === null ? `${status}, ${waiting} waiting` : `${status}: ${reason}`;
    await parts.write(`${id}  ${printable(url)}  ${types.join(',') || 'all events'}  ${state}\n`);
  }
  for (const { id, reason } of unreadable) {
    await parts.write(json === true ? `${JSON.stringify({ id, reason })}\n` : `${id}  ${reason}\n`);
  }
  if (unreadable.length > 0) return 1;
  if (webhooks.length === 0 && json !== true) {
    await parts.write('There is no webhook. Add one: fusegate webhooks add https://example.com/events\n');
  }
  return 0;
}

/** Sends an event of a type that servers never send, and reports the answer. */
async function test(
  parts: WebhooksCommandParts,
  { store, secrets, configuration }: CommandContext,
  id: string,
  { json }: Json,
): Ended {
  const webhook = await findWebhook(store, id);
  if (webhook === undefined) return absent(id);
  const { clock } = parts;
  const nowMs = clock.wallMs();
  const body = JSON.stringify({ type: 'webhook.test', timestamp: timeText(nowMs), data: { webhook: id } });
  const eventId = `evt_${parts.randomness(16).toString('hex')}`;
  const head = messageHead(secrets, webhook, { id: eventId, body, nowMs });
  if (head === undefined) {
    return { wrong: `The secret of ${id} cannot be made: its master secret is not among MASTER_SECRET.` };
  }
  const send = parts.senderTo(configuration.webhookNetworks);
  const beganMs = clock.monotonicMs();
  try {
    const { status } = await send(webhook.url, head, body, new AbortController().signal);
    const tookMs = Math.round(clock.monotonicMs() - beganMs);
    const taken = status >= 200 && status < 300;
    const said = taken ? 'took the event' : 'did not take the event: an answer is 200 to 299';
    await parts.write(
      json === true
        ? `${JSON.stringify({ id, event: eventId, status, taken, took_ms: tookMs })}\n`
        : `${printable(webhook.url)} answered ${status} in ${tookMs} ms and ${said}.\n`,
    );
    return taken ? 0 : 1;
  } catch (error) {
    return { wrong: `${printable(webhook.url)} did not answer (${reasonOf(error)}).` };
  }
}

async function remove(parts: WebhooksCommandParts, { store }: CommandContext, id: string): Ended {
  if (!(await removeWebhook(store, id))) return absent(id);
  await parts.write(`Webhook ${id} is removed, with what waited for it.\n`);
  return 0;
}

/** Adds the commands to the program. */
export function addWebhooks(program: Command, parts: WebhooksCommandParts): void {
  const webhooks = program.command('webhooks').description('send events of orders, keys and leads to a URL');
  const command = (name: string, description: string): Command =>
    webhooks.command(name).description(description).allowExcessArguments(false);
  const withJson = (name: string, description: string): Command =>
    command(name, description).option('--json', 'print JSON, one object a line');
  const onStore = async (run: (context: CommandContext) => Ended): Promise<void> => {
    process.exitCode = await withStore(parts, run);
  };
  withJson('add <url>', 'send events to a URL, and print the secret that its receiver verifies them by')
    .option('--event <type...>', `only these: ${eventTypes.join(', ')}`)
    .action((url: string, options: AddOptions) => onStore((context) => add(parts, context, url, options)));
  withJson('list', 'list all webhooks, and how many events wait for each').action((options: Json) =>
    onStore((context) => list(parts, context, options)),
  );
  withJson('test <id>', 'send an event of the type webhook.test now').action((id: string, options: Json) =>
    onStore((context) => test(parts, context, id, options)),
  );
  command('remove <id>', 'send nothing there any more').action((id: string) =>
    onStore((context) => remove(parts, context, id)),
  );
}
