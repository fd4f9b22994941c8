// Browsers open six connections to a host. Two are kept free, for the stream of events and for the
// timeline; the rest go first to what answers first: whether something is wrong.

const AT_ONCE_MAX = 4;

const order = ["/regressions", "/status", "/fleet/dimensions", "/fleet/rollup", "/fleet/losses"];

/** Smaller is sooner. */
export function urgency(path: string): number {
  const at = order.findIndex((name) => path.startsWith(`/api/v1${name}`));
  if (path.includes("/fleet/rollup") && path.includes("by=")) return order.length + 1;
  return at < 0 ? order.length : at;
}

interface Waiting {
  urgency: number;
  start: () => void;
}

export class RequestQueue {
  private running = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly waiting: Waiting[] = [];

  run<T>(path: string, ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        void ask()
          .then(resolve, reject)
          .finally(() => {
            this.running -= 1;
            this.next();
          });
      };
      const level = urgency(path);
      const after = this.waiting.findIndex((other) => other.urgency > level);
      this.waiting.splice(after < 0 ? this.waiting.length : after, 0, { urgency: level, start });
      // Those who ask in the same moment are put in order before the first of them begins.
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.next();
      });
    });
  }

  private next(): void {
    while (this.running < AT_ONCE_MAX) {
      const one = this.waiting.shift();
      if (!one) return;
      this.running += 1;
      one.start();
    }
  }
}
