/** The pace of one side of a connection: it must move a least number of bytes in each window of time. */

/** The windows of one transfer. Its bytes are counted from its beginning. */
export class PaceWindow {
  /**
   * @param windowMs time for each further `windowBytes`
   * @param sinceMs when the first window begins
   * @param bytes number of bytes that were moved by then
   */
  constructor(
    private readonly windowMs: number,
    private readonly windowBytes: number,
    private sinceMs: number,
    private bytes = 0,
  ) {}

  /** Begins a window. */
  begin(nowMs: number, bytes: number): void {
    this.sinceMs = nowMs;
    this.bytes = bytes;
  }

  /** True if a window has ended without its bytes; one that ended with them is followed by another. */
  isSlow(nowMs: number, bytes: number): boolean {
    if (nowMs - this.sinceMs < this.windowMs) return false;
    if (bytes - this.bytes < this.windowBytes) return true;
    this.begin(nowMs, bytes);
    return false;
  }
}
