/** The TCP ports of a running server. */

/** The ports that a server listens on. */
export interface Ports {
  readonly port: number;
  /** Port of the fragment door; undefined: it shares `port`. */
  readonly doorPort: number | undefined;
  /** 0: metrics are not served. */
  readonly metricsPort: number;
}
