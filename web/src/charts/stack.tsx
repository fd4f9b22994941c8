// A division of something as one stacked bar, in the order and colours of the groups.

import { GROUPS, groupColor, groupLabel, type GroupName } from "../model/buckets";
import { percent } from "../model/format";

/** A legend does not tell of what rounds to 0.0%. */
const SHOWN_MIN = 0.0005;

interface Props {
  sums: Record<GroupName, number>;
  large?: boolean;
  /** What is divided, for the words that stand in for the picture. */
  of: string;
}

export function StackBar({ sums, large, of }: Props) {
  const total = GROUPS.reduce((sum, group) => sum + sums[group], 0);
  const parts = GROUPS.filter((group) => sums[group] > 0);
  const share = (group: GroupName): number => (100 * sums[group]) / total;
  const words = parts.map((group) => `${groupLabel(group)} ${percent(share(group))}`).join(", ");
  return (
    <div
      class={`stack ${large ? "large" : ""}`}
      role="img"
      aria-label={`${of}: ${words || "nothing"}`}
    >
      {parts.map((group) => (
        <i
          key={group}
          title={`${groupLabel(group)} ${percent(share(group))}`}
          style={{ width: `${share(group)}%`, background: groupColor(group) }}
        />
      ))}
    </div>
  );
}

export function GroupLegend({ sums }: { sums?: Record<GroupName, number> }) {
  const total = sums ? GROUPS.reduce((sum, group) => sum + sums[group], 0) : 0;
  return (
    <ul class="legend">
      {GROUPS.filter((group) => !sums || sums[group] >= total * SHOWN_MIN).map((group) => (
        <li key={group}>
          <i class="swatch" aria-hidden="true" style={{ background: groupColor(group) }} />
          {groupLabel(group)}
          {sums && total > 0 && (
            <>
              {" "}
              <b>{percent((100 * sums[group]) / total)}</b>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}
