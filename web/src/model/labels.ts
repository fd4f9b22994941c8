// Labels beside each other in a few rows. Pure.

interface Placed {
  left: number;
  right: number;
  row: number;
}

/** Which row each label has room in, those that matter most first; none: only its line is drawn. */
export function placeLabels(
  marks: readonly { left: number; width: number; weight: number }[],
  rows: number,
  gap: number,
): (number | null)[] {
  const placed: Placed[] = [];
  const found: (number | null)[] = marks.map(() => null);
  const order = marks.map((mark, i) => ({ ...mark, i })).sort((x, y) => y.weight - x.weight);
  for (const { left, width, i } of order) {
    const right = left + width + gap;
    const free = (row: number): boolean =>
      placed.every((other) => other.row !== row || right <= other.left || left >= other.right);
    const row = Array.from({ length: rows }, (_, n) => n).find(free);
    if (row === undefined) continue;
    placed.push({ left, right, row });
    found[i] = row;
  }
  return found;
}
