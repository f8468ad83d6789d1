/** The TCP ports of a running server. */

/** Where a server listens. */
export interface Ports {
  readonly port: number;
  /** That of the fragment door; undefined: it shares the other. */
  readonly doorPort: number | undefined;
  /** 0: no metrics are served. */
  readonly metricsPort: number;
}
