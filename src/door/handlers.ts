/** The handlers of the fragment door's routes (contract, part B), bound to their parts. */
import type { Handlers } from '../contract/routes.js';
import { confirm, confirmState } from './confirm.js';
import { dream } from './dream.js';
import { harvest, type HarvestParts } from './harvest.js';
import { doorOpenapi, type DoorAddress } from './openapi.js';
import { preview } from './preview.js';
import type { Previews } from './previews.js';
import { receipt } from './receipt.js';

/** What the fragment door is made of. */
export interface DoorParts extends HarvestParts {
  readonly previews: Previews;
  readonly address: DoorAddress;
}

/** Ids of the fragment door's routes. */
export type DoorRouteId =
  'dream' | 'dreamPreview' | 'dreamConfirmState' | 'dreamConfirm' | 'harvest' | 'receipt' | 'doorOpenapi';

/** The handler of each of the door's routes. */
export function doorHandlers(parts: DoorParts): Pick<Handlers, DoorRouteId> {
  return {
    dream: dream(parts),
    dreamPreview: preview(parts),
    dreamConfirmState: confirmState(parts),
    dreamConfirm: confirm(parts),
    harvest: harvest(parts),
    receipt: receipt(parts),
    doorOpenapi: doorOpenapi(parts.address),
  };
}
