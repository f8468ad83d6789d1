/** The service's information endpoints on the wire (contract, banner, health, version, privacy). */
import type { tags } from 'typia';
import type { Integer } from './tags.js';

/** `GET /`. */
export interface BannerResponse {
  service: string;
  version: string;
  documentation: string;
  openapi: string;
}

/** `GET /health`: the process answers. */
export interface HealthResponse {
  status: 'ok';
}

/** One thing that readiness depends on. */
export interface ReadyCheck {
  check: string;
  ok: boolean;
  /** What is wrong, for programs; null when ok. */
  code: string | null;
  /** What is wrong, as a sentence; null when ok. */
  reason: string | null;
}

/** `GET /ready`: 200 when every check is ok, else 503. */
export interface ReadyResponse {
  ready: boolean;
  checks: ReadyCheck[];
  /** Sentences for the operator about what works and may soon not. */
  warnings: string[];
}

/** `GET /version`: every value is a string. */
export interface VersionResponse {
  [name: string]: string;
}

/** What is kept about callers, why, and how long. */
export interface StoredData {
  /** What is kept. */
  what: string;
  /** What it is kept for. */
  why: string;
  /** How long. */
  retention: string;
  /** Where it lies. */
  where: string;
}

/** `GET /privacy`. */
export interface PrivacyResponse {
  stored: StoredData[];
  logged: StoredData[];
  not_stored: string[];
}

/** The body limit of one route. */
export interface BodyLimit {
  route: string;
  method: string;
  path: string;
  max_body_bytes: number & Integer & tags.Minimum<0>;
}

/** A limit on one field of a request. */
export interface FieldLimit {
  /** Request it belongs to. */
  request: string;
  /** Field, `[]` for each item of a list. */
  field: string;
  min_chars?: number & Integer;
  max_chars?: number & Integer;
  min_items?: number & Integer;
  max_items?: number & Integer;
  minimum?: number;
  maximum?: number;
}

/** A limit by time or number. */
export interface RateLimit {
  name: string;
  /** 0: none. */
  limit: number & Integer & tags.Minimum<0>;
  /** What is counted, over what, for whom. */
  unit: string;
}

/** `GET /v1/limits`: every limit in force. */
export interface LimitsResponse {
  bodies: BodyLimit[];
  fields: FieldLimit[];
  rates: RateLimit[];
  /** Brackets that may be open at once in a JSON body. */
  json_nesting: number & Integer;
  /** Errors a 422 lists at most. */
  validation_errors: number & Integer;
  /** Bytes of JSON up to which a 422 echoes an input. */
  validation_input_bytes: number & Integer;
}

/** Path of one of the pages' files. */
export interface PageFilePath {
  file: string;
}

/** Path of one of the reference page's files. */
export interface DocsPath {
  file: string;
}
