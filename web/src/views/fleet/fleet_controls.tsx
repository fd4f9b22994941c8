// Period, filters, weight and grouping: all of them live in the address.

import type { Dimensions } from "../../api/types";
import { addDays, PERIODS, type PeriodWord } from "../../model/days";
import { change } from "../../state/address";
import { DIMENSIONS, type FleetState } from "../../state/fleet_state";
import { Filters, Segments, Select } from "../../ui/controls";

const periodWords: Record<PeriodWord, string> = { "7d": "7 d", "30d": "30 d", "90d": "90 d" };

export function FleetControls(props: { state: FleetState; dimensions: Dimensions | null }) {
  const { state, dimensions } = props;
  return (
    <form
      class="controls"
      aria-label="Period and filters"
      onSubmit={(event) => event.preventDefault()}
    >
      <Segments<PeriodWord>
        label="Period"
        value={state.period === "custom" ? "" : state.period}
        options={PERIODS.map((value) => ({ value, label: periodWords[value] }))}
        choose={(value) => change({ period: value === "30d" ? null : value, from: null, to: null })}
      />
      <Days state={state} />
      <Segments
        label="Weight by"
        value={state.weight}
        options={[
          { value: "device", label: "by device-hour" },
          { value: "job", label: "by job" },
        ]}
        choose={(value) => change({ weight: value === "device" ? null : value })}
      />
      <Select
        label="Group by"
        value={state.by}
        options={[
          { value: "", label: "nothing" },
          ...DIMENSIONS.map((value) => ({ value, label: value })),
        ]}
        choose={(by) => change({ by })}
      />
      <Filters name="where" label="Add filter" where={state.where} dimensions={dimensions} />
    </form>
  );
}

/** Both days are included, as people mean it. */
function Days({ state }: { state: FleetState }) {
  const { days } = state;
  if (!days) return null;
  const last = addDays(days.to, -1);
  const set = (from: string, until: string): void => {
    if (from && until && from <= until) change({ from, to: addDays(until, 1), period: null });
  };
  return (
    <span class="nowrap">
      <label>
        <span class="hidden">From day (UTC)</span>
        <input
          type="date"
          value={days.from}
          max={last}
          onChange={(event) => set(event.currentTarget.value, last)}
        />
      </label>{" "}
      <span class="muted">to</span>{" "}
      <label>
        <span class="hidden">To day (UTC), included</span>
        <input
          type="date"
          value={last}
          min={days.from}
          onChange={(event) => set(days.from, event.currentTarget.value)}
        />
      </label>
    </span>
  );
}
