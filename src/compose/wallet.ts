/** Opens LND's wallet for the command that stamps checkpoints; no server has it. */
import { Lnd, type LndPlace } from '../checkout/lnd.js';
import { LndWallet } from '../checkout/lndWallet.js';
import type { StampWallet } from '../log/stamping.js';
import { systemClock } from '../system/clock.js';

/** A wallet, and a function that closes its connections. @throws Error if the certificate is invalid */
export function openWallet(place: LndPlace): { readonly wallet: StampWallet; readonly close: () => void } {
  const lnd = new Lnd(place, systemClock);
  return { wallet: new LndWallet(lnd), close: () => lnd.close() };
}
