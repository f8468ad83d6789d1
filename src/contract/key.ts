/** The API key on the wire (contract, Authentication). */
import typia from 'typia';
import { wireTypes } from './schema/wireType.js';

/** The optional API key. */
export interface KeyHeaders {
  /** An API key; without one the anonymous limits apply. */
  'x-api-key'?: string;
}

/** The optional API key among the headers. */
export const [keyHeadersType] = wireTypes(typia.json.schemas<[KeyHeaders]>());
