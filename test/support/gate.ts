/** A gate that the work of a test passes, and at which it waits while the test holds it. */
export class Gate {
  private held: Promise<void> | undefined;

  get isHeld(): boolean {
    return this.held !== undefined;
  }

  /** Resolves once the gate is open. */
  async passed(): Promise<void> {
    await this.held;
  }

  /** Holds the gate until the returned function is called. */
  hold(): () => void {
    let release = (): void => undefined;
    this.held = new Promise((resolve) => {
      release = resolve;
    });
    return () => {
      this.held = undefined;
      release();
    };
  }
}
