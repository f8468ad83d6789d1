/** Defaults and extension marks of request fields, which generated schemas cannot carry for every type. */
import { auditDefaults } from './audit.js';
import { cardStatusDefaults, cardSuccessDefaults } from './card.js';
import { clickDefaults } from './click.js';
import { exploreDefaults, exploreExtensions } from './explore.js';
import { fuseDefaults, fuseExtensions } from './fuse.js';
import { normalizeDefaults, normalizeExtensions } from './normalize.js';
import { unsubscribeDefaults } from './optout.js';
import type { ParameterSets, RequestBodies } from './schemas.js';

/** What the OpenAPI document adds to a request's schema. */
export interface Annotation {
  /** Value of a field that is left out. */
  readonly defaults: Readonly<Record<string, string | number | boolean>>;
  /** Fields beyond the contract's. */
  readonly extensions: readonly string[];
}

/** Annotations by schema name. */
export const annotations: { readonly [Name in keyof RequestBodies | keyof ParameterSets]?: Annotation } = {
  FuseRequest: { defaults: fuseDefaults, extensions: fuseExtensions },
  NormalizeRequest: { defaults: normalizeDefaults, extensions: normalizeExtensions },
  FreeAuditRequest: { defaults: auditDefaults, extensions: [] },
  CardStatusQuery: { defaults: cardStatusDefaults, extensions: [] },
  CardSuccessQuery: { defaults: cardSuccessDefaults, extensions: [] },
  ClickQuery: { defaults: clickDefaults, extensions: [] },
  UnsubscribeQuery: { defaults: unsubscribeDefaults, extensions: [] },
  AsOfQuery: { defaults: {}, extensions: exploreExtensions.asOf },
  NearQuery: { defaults: exploreDefaults.near, extensions: exploreExtensions.near },
  WalkQuery: { defaults: exploreDefaults.walk, extensions: exploreExtensions.walk },
  GraphQuery: { defaults: exploreDefaults.graph, extensions: exploreExtensions.graph },
  FragmentsQuery: { defaults: exploreDefaults.graph, extensions: exploreExtensions.fragments },
  BuyQuery: { defaults: {}, extensions: ['tier'] },
  ClaimQuery: { defaults: {}, extensions: ['claim'] },
  ClaimHeaders: { defaults: {}, extensions: ['x-claim-token'] },
};
