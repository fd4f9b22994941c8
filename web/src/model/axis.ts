// What a chart by day has to know of its data before it is drawn. Pure.

const DAY_S = 86_400;

/** From the first day to the last; a single one stands in the middle of a day's width. */
export function daysRange(days_s: readonly number[]): [number, number] {
  const [first_s = 0, last_s = first_s] = [days_s[0], days_s.at(-1)];
  return last_s > first_s ? [first_s, last_s] : [first_s - DAY_S / 2, last_s + DAY_S / 2];
}

/** Where the only value of a line is: a line needs two, so it is drawn as a point. */
export function onlyValue(values: readonly (number | null)[]): number | null {
  const first = values.findIndex((value) => value !== null);
  return first >= 0 && values.findLastIndex((value) => value !== null) === first ? first : null;
}
