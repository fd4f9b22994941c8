// The collector's clock: what is "ago" is reckoned by it, not by this machine's.

let ahead_ns = 0;

/** The collector said what time it has. */
export function setClock(now_ns: number, here_ms: number): void {
  ahead_ns = now_ns - here_ms * 1e6;
}

export function nowNs(here_ms: number = Date.now()): number {
  return here_ms * 1e6 + ahead_ns;
}
