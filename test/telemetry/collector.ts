/** A collector: receives OTLP over HTTP, and keeps what it got. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A value of an attribute, in OTLP's JSON. */
interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}

/** Attributes in OTLP's JSON. */
export type Attributes = readonly { readonly key: string; readonly value: AnyValue }[];

/** A span in OTLP's JSON, as far as tests look at it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Attributes;
  readonly status: { readonly code?: number };
}

/** A point of a metric in OTLP's JSON. */
export interface CollectedPoint {
  readonly attributes: Attributes;
  readonly asDouble?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly bucketCounts?: readonly number[];
  readonly explicitBounds?: readonly number[];
}

/** A metric in OTLP's JSON. */
export interface CollectedMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly CollectedPoint[] };
  readonly gauge?: { readonly dataPoints: readonly CollectedPoint[] };
  readonly histogram?: { readonly dataPoints: readonly CollectedPoint[] };
}

/** A request that it got. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Document {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly resource: { readonly attributes: Attributes };
    readonly scopeMetrics: readonly { readonly metrics: readonly CollectedMetric[] }[];
  }[];
}

/** Attributes as an object of plain values. */
export function plain(attributes: Attributes = []): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.doubleValue ?? value.boolValue ?? Number(value.intValue),
    ]),
  );
}

/** A collector that listens; JSON is read, other bodies are kept as they are. */
export class Collector {
  readonly received: Received[] = [];
  /** Statuses of its next answers; 200 when there is none. */
  statuses: number[] = [];

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  /** Starts one on a free port. */
  static async start(): Promise<Collector> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const collector = new Collector(server, (server.address() as AddressInfo).port);
    server.on('request', (request, response) => {
      void buffer(request).then((body) => {
        collector.received.push({ path: request.url ?? '', headers: request.headers, body });
        response.writeHead(collector.statuses.shift() ?? 200).end();
      });
    });
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private documents(path: string): Document[] {
    return this.received
      .filter((each) => each.path === path && each.headers['content-type'] === 'application/json')
      .map(({ body }) => JSON.parse(body.toString()) as Document);
  }

  /** Every span that it got. */
  spans(): CollectedSpan[] {
    const resources = this.documents('/v1/traces').flatMap(({ resourceSpans = [] }) => resourceSpans);
    return resources.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
  }

  /** The metrics of each time that it got some. */
  metrics(): CollectedMetric[][] {
    return this.documents('/v1/metrics').map(({ resourceMetrics = [] }) =>
      resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)),
    );
  }

  /** Facts of the sender, of what came first. */
  resource(): Record<string, unknown> {
    const [first] = [...this.documents('/v1/traces'), ...this.documents('/v1/metrics')];
    return plain((first?.resourceSpans ?? first?.resourceMetrics)?.[0]?.resource.attributes);
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close').catch(() => undefined);
  }
}
