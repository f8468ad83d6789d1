/** The handlers that store, show and verify fragments (contract, part B), bound to their parts. */
import type { Handlers } from '../contract/routes.js';
import { logHandlers } from '../log/handlers.js';
import type { TreeParts } from '../log/tree.js';
import { confirm, confirmState } from './confirm.js';
import { dream } from './dream.js';
import { harvest, type HarvestParts } from './harvest.js';
import { tellHow } from './how.js';
import { doorOpenapi, type DoorAddress } from './openapi.js';
import { preview } from './preview.js';
import type { Previews } from './previews.js';
import { receipt } from './receipt.js';

/** Parts of the fragment door, exploration apart. */
export interface ReceiptParts extends HarvestParts {
  readonly previews: Previews;
  readonly address: DoorAddress;
  /** The native module's part in the log of receipts. */
  readonly tree: TreeParts;
}

/** The handlers of the door's routes, except those of exploration and the page of the log. */
export function receiptHandlers(parts: ReceiptParts) {
  return {
    dream: dream(parts),
    dreamPreview: preview(parts),
    dreamConfirmState: confirmState(parts),
    dreamConfirm: confirm(parts),
    harvest: harvest(parts),
    receipt: receipt(parts),
    ...logHandlers(parts),
    how: tellHow(),
    doorOpenapi: doorOpenapi(parts.address),
  } satisfies Partial<Handlers>;
}
