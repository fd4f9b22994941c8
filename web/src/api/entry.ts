// One answer of the collector and those who look at it: asked for once however many want it, and again,
// not too soon, when it became stale. What was answered stays until newer is there.

import { restMs } from "./pace";

export class Entry {
  data: unknown = null;
  error: Error | null = null;
  loading = false;
  fetched_ms = 0;
  readonly listeners = new Set<() => void>();
  private took_ms = 0;
  private again = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly path: string,
    private readonly ask: (path: string) => Promise<unknown>,
  ) {}

  /** Now; while it is under way, once more after it: what came meanwhile may not be in it. */
  async load(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.loading) {
      this.again = true;
      return;
    }
    this.loading = true;
    this.tell();
    const begun_ms = Date.now();
    try {
      this.data = await this.ask(this.path);
      this.error = null;
    } catch (error) {
      this.error = error instanceof Error ? error : new Error(String(error));
    }
    this.fetched_ms = Date.now();
    this.took_ms = this.fetched_ms - begun_ms;
    this.loading = false;
    this.tell();
    if (!this.again) return;
    this.again = false;
    this.refresh();
  }

  /** Soon, if anybody looks at it. */
  refresh(): void {
    if (this.listeners.size === 0) {
      this.fetched_ms = 0;
      return;
    }
    if (this.timer !== undefined) return;
    const rest_ms = restMs(this.path, this.took_ms);
    const wait_ms = Math.max(0, this.fetched_ms + rest_ms - Date.now());
    this.timer = setTimeout(() => void this.load(), wait_ms);
  }

  private tell(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
