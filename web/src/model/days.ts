// Days are texts `YYYY-MM-DD` in UTC, as in the API; periods reach from a day up to, not including,
// another.

export interface Period {
  from: string;
  to: string;
}

const DAY_MS = 86_400_000;

export function isDay(text: string | undefined): text is string {
  return text !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

export function addDays(day: string, n: number): string {
  return new Date(Date.parse(day) + n * DAY_MS).toISOString().slice(0, 10);
}

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

export function dayOfNs(t_ns: number): string {
  return new Date(t_ns / 1e6).toISOString().slice(0, 10);
}

export function unixSeconds(day: string): number {
  return Date.parse(day) / 1000;
}

export const PERIODS = ["7d", "30d", "90d"] as const;
export type PeriodWord = (typeof PERIODS)[number];

/** The last n days, the last day that has data included. */
export function lastDays(word: PeriodWord, last_day: string): Period {
  const to = addDays(last_day, 1);
  return { from: addDays(to, -Number.parseInt(word, 10)), to };
}

/** As long as `period`, and right before it. */
export function before(period: Period): Period {
  const length = daysBetween(period.from, period.to);
  return { from: addDays(period.from, -length), to: period.from };
}
