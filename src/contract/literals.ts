/** The order in which a 422 and the OpenAPI document list allowed values. */
import { auditFormats, auditSurfaces, auditUseCases } from './audit.js';
import { deliveryModelIds } from './delivery.js';
import { fuseMethods, tokenizers } from './fuse.js';
import { normalizeModes } from './normalize.js';
import { currencies, tiers } from './pricing.js';

const declared: readonly (readonly string[])[] = [
  auditFormats,
  auditSurfaces,
  auditUseCases,
  currencies,
  deliveryModelIds,
  fuseMethods,
  normalizeModes,
  tiers,
  tokenizers,
];

/**
 * Allowed values in the order of their declaration, else by name. The generator gives them in the order in
 * which the compiler met them first, which changes with the files it reads.
 */
export function inOrder(values: readonly unknown[]): readonly unknown[] {
  const same = (list: readonly string[]) =>
    list.length === values.length && list.every((value) => values.includes(value));
  return declared.find(same) ?? [...values].sort((a, b) => (String(a) < String(b) ? -1 : 1));
}
