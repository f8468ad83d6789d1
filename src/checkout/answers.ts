/** The checkout's answers: never cached, never indexed, and one 404 for unknown orders. */
import { jsonAnswer } from '../contract/answer.js';
import type { Answer } from '../contract/exchange.js';
import { problemOf, type ProblemCode } from '../contract/problem.js';
import { privateFields } from '../contract/route.js';

/** An answer of the checkout. */
export function checkoutAnswer(status: number, json: unknown): Answer {
  return { ...jsonAnswer(status, json), headers: privateFields };
}

/** A problem document of the checkout. */
export function checkoutProblem(status: number, code: ProblemCode, detail: string): Answer {
  return checkoutAnswer(status, problemOf(code, detail));
}

/** The one answer to unknown ids, malformed ids and ids of others. */
export function orderNotFound(): Answer {
  return checkoutProblem(404, 'order_not_found', 'There is no such order.');
}

/** The answer to a request for payment details of an order that is already paid. */
export function orderPaid(): Answer {
  return checkoutProblem(
    410,
    'order_paid',
    'This order is paid. Send no more money to it; poll it for its key.',
  );
}

/** The answer to a request for payment details of an order whose payment nobody looks for any more. */
export function orderClosed(): Answer {
  return checkoutProblem(
    410,
    'order_closed',
    'This order has ended, and payments for it are no longer looked for. Send no money to it.',
  );
}

/** An answer with a QR code. */
export function svgAnswer(svg: string): Answer {
  const body = { bytes: svg, type: 'image/svg+xml; charset=utf-8' } as const;
  return { status: 200, body, headers: privateFields, charge: 0 };
}
