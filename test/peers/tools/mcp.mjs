/**
 * The official MCP clients for TypeScript, both generations, unmodified, against a server.
 *
 * Usage: mcp.mjs BASE_URL; prints a line of JSON a client.
 */
import {
  Client as Newest,
  StreamableHTTPClientTransport as NewestTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const url = new URL(`${process.argv[2]}/mcp`);
const info = { name: 'fusegate-test', version: '1.0.0' };
const documents = ['Carson City is the capital of Nevada.', { id: 'dc', text: 'Washington is the capital.' }];
const question = { name: 'rerank', arguments: { query: 'Washington', documents } };
const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } };

const clients = {
  'sdk 1': () => [new Client(info), new StreamableHTTPClientTransport(url)],
  'client 2, default': () => [new Newest(info), new NewestTransport(url)],
  'client 2, auto': () => [
    new Newest(info, { versionNegotiation: { mode: 'auto' } }),
    new NewestTransport(url),
  ],
  'client 2, pinned': () => [new Newest(info, pinned), new NewestTransport(url)],
};

for (const [name, make] of Object.entries(clients)) {
  const [client, transport] = make();
  await client.connect(transport);
  const { tools } = await client.listTools();
  const { structuredContent, isError } = await client.callTool(question);
  const wrong = await client.callTool({ name: 'rerank', arguments: { query: 'x' } });
  const unknown = await client.callTool({ name: 'nothing', arguments: {} }).catch((error) => error);
  console.log(
    JSON.stringify({
      client: name,
      server: client.getServerVersion()?.name,
      tools: tools.map((tool) => tool.name),
      isError: isError ?? false,
      first: structuredContent.results[0].id,
      wrong: wrong.isError && wrong.content[0].text,
      unknown: unknown.message,
    }),
  );
  await client.close();
}
