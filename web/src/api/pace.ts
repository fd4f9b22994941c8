// How soon an answer that became stale is asked for again: what lives does not ask the collector more
// often than this, however much it hears of it. Pure.

const USUAL_MS = 3000;
/** Of lists of jobs and the collector's counts, which cost little and are where a job is looked for that
 * has just begun. */
const LISTS_MS = 1000;
/** Lists that take long are no little cost: of the time, one part in so many. */
const SHARE = 5;

export function restMs(path: string, took_ms: number): number {
  const is_list = path.startsWith("/api/v1/jobs?") || path === "/api/v1/status";
  return is_list ? Math.min(USUAL_MS, Math.max(LISTS_MS, SHARE * took_ms)) : USUAL_MS;
}
