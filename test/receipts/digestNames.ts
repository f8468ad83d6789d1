/** Names of a receipt's digests, written down apart from the service. */
export const digestNames = [
  'content_sha256',
  'submission_payload_sha256',
  'canonical_payload_sha256',
  'dedupe_key_sha256',
  'confirmation_binding_sha256',
  'confirmation_token_sha256',
] as const;
