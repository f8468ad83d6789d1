/** Settings of traces and metrics over OTLP: the names and meanings that OpenTelemetry gives them. */
import type { Parsed, Settings, ValuesOf } from '../system/settings.js';
import { integer, oneOf, orNull } from '../system/settingValues.js';
import { stripEnd } from '../system/strip.js';

/** The rules by which requests are chosen to be recorded. */
export const samplers = [
  'parentbased_traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'traceidratio',
  'always_on',
  'always_off',
] as const;

/** One of {@link samplers}. */
export type SamplerName = (typeof samplers)[number];

/** The encodings of traces and metrics. */
const otlpProtocols = ['http/protobuf', 'http/json'] as const;

function parseEndpoint(text: string): Parsed<string> {
  const wrong =
    'must be http:// or https:// with a host and no user, query or fragment, such as http://127.0.0.1:4318';
  if (!URL.canParse(text)) return { wrong };
  const url = new URL(text);
  const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!/^https?:$/.test(url.protocol) || !isPlain) return { wrong };
  return { value: stripEnd(url.href, '/') };
}

/** Reads `name=value,name=value`, each percent-encoded (W3C Baggage); undefined: it is no such list. */
function readPairs(text: string): Readonly<Record<string, string>> | undefined {
  const pairs: Record<string, string> = {};
  for (const pair of text.split(',').map((each) => each.trim())) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    if (at < 1) return undefined;
    try {
      pairs[decodeURIComponent(pair.slice(0, at).trim())] = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      return undefined;
    }
  }
  return pairs;
}

function parsePairs(text: string): Parsed<Readonly<Record<string, string>>> {
  const value = readPairs(text);
  return value === undefined
    ? { wrong: 'must be name=value pairs separated by commas, percent-encoded' }
    : { value };
}

function parseHeaders(text: string): Parsed<Readonly<Record<string, string>>> {
  const value = readPairs(text);
  const isLegal = Object.entries(value ?? {}).every(
    ([name, field]) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(field),
  );
  if (value !== undefined && isLegal) return { value };
  return { wrong: 'must be name=value pairs of header fields separated by commas, percent-encoded' };
}

function parseDisabled(text: string): Parsed<boolean> {
  // A settings file turns `true` into "yes".
  const plain = text.toLowerCase();
  if (plain === 'true' || plain === 'yes') return { value: true };
  return plain === 'false' || plain === 'no' ? { value: false } : { wrong: 'must be true or false' };
}

function parseRatio(text: string): Parsed<number> {
  const value = /^(\d+(\.\d*)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 1 ? { value } : { wrong: 'must be a number from 0 to 1' };
}

const exporters = ['otlp', 'none'] as const;

/** Traces and metrics over OTLP. */
export const telemetrySettings = {
  /** Address of the collector, without `/v1/…`; null: nothing is sent. */
  otlpEndpoint: {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    type: '`http://` or `https://` address',
    fallback: '',
    fallbackShown: 'none: off',
    meaning:
      'Where traces and metrics are sent (OTLP over HTTP, to `/v1/traces` and `/v1/metrics` beneath it): ' +
      '[tracing.md](tracing.md).',
    parse: orNull(parseEndpoint),
  },
  /** Header fields sent to the collector, such as its key. */
  otlpHeaders: {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    type: '`name=value` pairs, by commas',
    fallback: '',
    fallbackShown: 'none',
    meaning: 'Header fields sent to the collector, such as its key, percent-encoded. A secret.',
    secret: true,
    parse: parseHeaders,
  },
  /** Encoding of traces and metrics. */
  otlpProtocol: {
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    type: otlpProtocols.join(', '),
    fallback: 'http/protobuf',
    meaning: 'Encoding of traces and metrics. gRPC is not supported; collectors accept HTTP on port 4318.',
    parse: oneOf(otlpProtocols),
  },
  /** Time limit for the collector to accept data, retries included (ms). */
  otlpTimeoutMs: {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    type: 'milliseconds, 1 to 600000',
    fallback: '10000',
    meaning: 'Time in which the collector must accept what is sent, retries included.',
    parse: integer(1, 600_000),
  },
  /** True if nothing is sent, whatever else is set. */
  otelDisabled: {
    name: 'OTEL_SDK_DISABLED',
    type: 'true or false',
    fallback: 'false',
    meaning: '`true`: nothing is sent, whatever else is set.',
    parse: parseDisabled,
  },
  /** `none`: no traces are sent. */
  otelTraces: {
    name: 'OTEL_TRACES_EXPORTER',
    type: exporters.join(', '),
    fallback: 'otlp',
    meaning: '`none`: no traces are sent.',
    parse: oneOf(exporters),
  },
  /** `none`: no metrics are sent. */
  otelMetrics: {
    name: 'OTEL_METRICS_EXPORTER',
    type: exporters.join(', '),
    fallback: 'otlp',
    meaning: '`none`: no metrics are sent.',
    parse: oneOf(exporters),
  },
  /** Name of the service; null: the one in the attributes, else the product's. */
  otelServiceName: {
    name: 'OTEL_SERVICE_NAME',
    type: 'text',
    fallback: '',
    fallbackShown: '`fusegate`',
    meaning: 'Name of the service in traces and metrics.',
    parse: (text) => ({ value: text === '' ? null : text }),
  },
  /** Further attributes of the service. */
  otelAttributes: {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    type: '`name=value` pairs, by commas',
    fallback: '',
    fallbackShown: 'none',
    meaning: 'Attributes of the service in traces and metrics, percent-encoded.',
    parse: parsePairs,
  },
  /** The rule by which requests are recorded. */
  otelSampler: {
    name: 'OTEL_TRACES_SAMPLER',
    type: samplers.join(', '),
    fallback: 'parentbased_traceidratio',
    meaning:
      'Requests that are recorded. `parentbased_…` follows the caller’s `traceparent`; without one, the ' +
      'rest of its name applies.',
    parse: oneOf(samplers),
  },
  /** The share of requests that `…traceidratio` records. */
  otelSamplerArg: {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    type: 'number, 0 to 1',
    fallback: '0.01',
    meaning: 'Share of requests that `…traceidratio` records.',
    parse: parseRatio,
  },
  /** Longest time that a recorded span waits to be sent (ms). */
  otelSpanDelayMs: {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    type: 'milliseconds, 10 to 600000',
    fallback: '5000',
    meaning: 'Longest time that a recorded span waits to be sent.',
    parse: integer(10, 600_000),
  },
  /** Interval at which metrics are sent (ms). */
  otelMetricsMs: {
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    type: 'milliseconds, 100 to 3600000',
    fallback: '60000',
    meaning: 'Interval at which metrics are sent.',
    parse: integer(100, 3_600_000),
  },
} as const satisfies Settings;

/** The values of these settings. */
export type TelemetrySettings = ValuesOf<typeof telemetrySettings>;

/** True if traces are sent. */
export function sendsTraces({ otlpEndpoint, otelDisabled, otelTraces }: TelemetrySettings): boolean {
  return otlpEndpoint !== null && !otelDisabled && otelTraces === 'otlp';
}

/** True if metrics are sent. */
export function sendsMetrics({ otlpEndpoint, otelDisabled, otelMetrics }: TelemetrySettings): boolean {
  return otlpEndpoint !== null && !otelDisabled && otelMetrics === 'otlp';
}
