/** `GET /` and `GET /health` (contract, service banner). */
import { jsonAnswer } from '../contract/answer.js';
import type { Answer } from '../contract/exchange.js';
import type { BannerResponse, HealthResponse } from '../contract/info.js';
import { SERVICE_VERSION } from './version.js';

/** The banner: names the service and its reference, and reveals nothing about this installation. */
export function banner(): Answer {
  const body: BannerResponse = {
    service: 'Fusegate',
    version: SERVICE_VERSION,
    documentation: '/docs',
    openapi: '/openapi.json',
  };
  return jsonAnswer(200, body);
}

/** Liveness: being able to answer is the check. */
export function health(): Answer {
  const body: HealthResponse = { status: 'ok' };
  return jsonAnswer(200, body);
}
