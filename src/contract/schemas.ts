/** JSON Schemas (2020-12) of every wire type, generated from the types at compile time. */
import typia from 'typia';
import type { AuditResponse, AuditStacksResponse, FreeAuditRequest } from './audit.js';
import type {
  CardOrderCreated,
  CardOrderPath,
  CardPickupResponse,
  CardStatusQuery,
  CardStatusResponse,
  CardSuccessQuery,
  CardWebhookResponse,
  CardWebhookStatusResponse,
} from './card.js';
import type { ClickPath, ClickQuery } from './click.js';
import type {
  DeliveryInterestRequest,
  DeliveryInterestResponse,
  DeliveryModelsResponse,
} from './delivery.js';
import type {
  DreamConfirmQuery,
  DreamConfirmRequest,
  DreamConfirmResponse,
  DreamConfirmStateResponse,
  DreamGetQuery,
  DreamHeaders,
  DreamPreviewResponse,
  DreamRequest,
  DreamResponse,
} from './dream.js';
import type {
  AsOfQuery,
  FocusResponse,
  FragmentsQuery,
  FragmentsResponse,
  GraphQuery,
  GraphResponse,
  HowResponse,
  LeaderboardResponse,
  NearQuery,
  NearResponse,
  WalkQuery,
  WalkResponse,
} from './explore.js';
import type { FuseRequest, FuseResponse } from './fuse.js';
import type { HarvestRequest, HarvestResponse } from './harvest.js';
import type {
  BannerResponse,
  DocsPath,
  HealthResponse,
  LimitsResponse,
  PageFilePath,
  PrivacyResponse,
  ReadyResponse,
  VersionResponse,
} from './info.js';
import type { KeyHeaders } from './key.js';
import type { LeadRequest, LeadResponse } from './leads.js';
import type { NormalizeRequest, NormalizeResponse } from './normalize.js';
import type { UnsubscribeQuery, UnsubscribeResponse } from './optout.js';
import type {
  BitcoinOrder,
  BitcoinOrderCreated,
  BitcoinOrderPath,
  ClaimHeaders,
  BuyOrderPath,
  BuyQuery,
  ClaimQuery,
  CreateOrderRequest,
  LightningCapacityResponse,
  LightningOrder,
  LightningOrderCreated,
  LightningOrderPath,
} from './orders.js';
import type { PricingResponse, QuoteRequest, QuoteResponse } from './pricing.js';
import type { HttpProblem, Problem } from './problem.js';
import type { ReceiptPath, ReceiptResponse } from './receipt.js';
import type { HTTPValidationError } from './validation.js';

/** The JSON bodies that requests carry, by schema name. */
export interface RequestBodies {
  CreateOrderRequest: CreateOrderRequest;
  QuoteRequest: QuoteRequest;
  LeadRequest: LeadRequest;
  DeliveryInterestRequest: DeliveryInterestRequest;
  FreeAuditRequest: FreeAuditRequest;
  NormalizeRequest: NormalizeRequest;
  FuseRequest: FuseRequest;
  DreamRequest: DreamRequest;
  DreamConfirmRequest: DreamConfirmRequest;
  HarvestRequest: HarvestRequest;
}

/** The sets of path, query and header parameters, by schema name. */
export interface ParameterSets {
  AsOfQuery: AsOfQuery;
  BitcoinOrderPath: BitcoinOrderPath;
  LightningOrderPath: LightningOrderPath;
  CardOrderPath: CardOrderPath;
  BuyOrderPath: BuyOrderPath;
  ClickPath: ClickPath;
  DocsPath: DocsPath;
  PageFilePath: PageFilePath;
  ReceiptPath: ReceiptPath;
  BuyQuery: BuyQuery;
  CardStatusQuery: CardStatusQuery;
  CardSuccessQuery: CardSuccessQuery;
  ClaimQuery: ClaimQuery;
  ClickQuery: ClickQuery;
  DreamConfirmQuery: DreamConfirmQuery;
  DreamGetQuery: DreamGetQuery;
  FragmentsQuery: FragmentsQuery;
  GraphQuery: GraphQuery;
  NearQuery: NearQuery;
  UnsubscribeQuery: UnsubscribeQuery;
  WalkQuery: WalkQuery;
  ClaimHeaders: ClaimHeaders;
  DreamHeaders: DreamHeaders;
  KeyHeaders: KeyHeaders;
}

/** The JSON bodies that answers carry, by schema name. */
export interface ResponseBodies {
  AuditResponse: AuditResponse;
  AuditStacksResponse: AuditStacksResponse;
  BannerResponse: BannerResponse;
  BitcoinOrder: BitcoinOrder;
  BitcoinOrderCreated: BitcoinOrderCreated;
  CardOrderCreated: CardOrderCreated;
  CardPickupResponse: CardPickupResponse;
  CardStatusResponse: CardStatusResponse;
  CardWebhookResponse: CardWebhookResponse;
  CardWebhookStatusResponse: CardWebhookStatusResponse;
  DeliveryInterestResponse: DeliveryInterestResponse;
  DeliveryModelsResponse: DeliveryModelsResponse;
  DreamConfirmResponse: DreamConfirmResponse;
  DreamConfirmStateResponse: DreamConfirmStateResponse;
  DreamPreviewResponse: DreamPreviewResponse;
  DreamResponse: DreamResponse;
  FocusResponse: FocusResponse;
  FragmentsResponse: FragmentsResponse;
  FuseResponse: FuseResponse;
  GraphResponse: GraphResponse;
  HTTPValidationError: HTTPValidationError;
  HarvestResponse: HarvestResponse;
  HealthResponse: HealthResponse;
  HowResponse: HowResponse;
  HttpProblem: HttpProblem;
  LeadResponse: LeadResponse;
  LeaderboardResponse: LeaderboardResponse;
  LightningCapacityResponse: LightningCapacityResponse;
  LightningOrder: LightningOrder;
  LightningOrderCreated: LightningOrderCreated;
  LimitsResponse: LimitsResponse;
  NearResponse: NearResponse;
  NormalizeResponse: NormalizeResponse;
  PricingResponse: PricingResponse;
  PrivacyResponse: PrivacyResponse;
  Problem: Problem;
  QuoteResponse: QuoteResponse;
  ReadyResponse: ReadyResponse;
  ReceiptResponse: ReceiptResponse;
  UnsubscribeResponse: UnsubscribeResponse;
  VersionResponse: VersionResponse;
  WalkResponse: WalkResponse;
}

/** The JSON Schema keywords the generator emits; anything else stops the start in {@link shapeOf}. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly oneOf?: readonly JsonSchema[];
  readonly type?: string;
  readonly const?: unknown;
  readonly description?: string;
  readonly title?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
}

type All = { [Name in keyof RequestBodies]: RequestBodies[Name] } & {
  [Name in keyof ParameterSets]: ParameterSets[Name];
} & { [Name in keyof ResponseBodies]: ResponseBodies[Name] };

const generated = typia.json.schemas<[All]>();

/** The generated schema of every wire type by name, references as `#/components/schemas/<name>`. */
export const schemas = (generated.components.schemas ?? {}) as Readonly<Record<string, JsonSchema>>;

/** The generated schema of a wire type. */
export function schemaOf(name: string): JsonSchema {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`No schema was generated for ${name}`);
  return schema;
}
