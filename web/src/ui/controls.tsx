// Small controls that several views share.

import type { ComponentChildren } from "preact";
import type { Dimensions } from "../api/types";
import { change } from "../state/address";
import { deviceHours } from "../model/format";

interface SegmentsProps<T extends string> {
  label: string;
  options: readonly { value: T; label: string }[];
  value: T | "";
  choose: (value: T) => void;
}

/** One of a few: buttons that say which is pressed. */
export function Segments<T extends string>({ label, options, value, choose }: SegmentsProps<T>) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => choose(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly { value: string; label: string }[];
  choose: (value: string) => void;
  /** The label is read, not shown. */
  quiet?: boolean;
}

export function Select({ label, value, options, choose, quiet }: SelectProps) {
  return (
    <label>
      <span class={quiet ? "hidden" : ""}>{label}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </label>
  );
}

interface FilterProps {
  name: string;
  label: string;
  where: readonly string[];
  dimensions: Dimensions | null;
}

/** Chips for what is chosen, and one list with every value of every dimension to add from. */
export function Filters({ name, label, where, dimensions }: FilterProps) {
  const add = (value: string): void => {
    if (value && !where.includes(value)) change({ [name]: [...where, value] });
  };
  return (
    <>
      <label>
        <span class="hidden">{label}</span>
        <select
          value=""
          disabled={!dimensions}
          onChange={(event) => {
            add(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="">{label}…</option>
          {dimensions?.dimensions.map((dimension) => (
            <optgroup key={dimension.name} label={dimension.name}>
              {dimension.values.map((one) => (
                <option key={one.value} value={`${dimension.name}:${one.value}`}>
                  {one.value === "" ? `no ${dimension.name}` : one.value} ·{" "}
                  {deviceHours(one.device_hours)} device-hours
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      {where.length > 0 && (
        <ul class="chips" aria-label={`${label}: chosen`}>
          {where.map((text) => (
            <li key={text}>
              <button
                type="button"
                class="chip"
                aria-label={`Remove filter ${text}`}
                onClick={() => change({ [name]: where.filter((other) => other !== text) })}
              >
                {text.replace(":", ": ")} <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const kinds: Record<string, string> = {
  running: "info",
  finished: "good",
  clean: "good",
  restarting: "warn",
  unended: "warn",
  stopped: "",
  failed: "bad",
  open: "bad",
  acknowledged: "warn",
  gone: "good",
};
const words: Record<string, string> = { unended: "no end recorded" };

export function StateBadge({ state }: { state: string }) {
  return <span class={`badge ${kinds[state] ?? ""}`}>{words[state] ?? state}</span>;
}

export function Swatch({ color }: { color: string }) {
  return <i class="swatch" aria-hidden="true" style={{ background: color }} />;
}

export function Kpi({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
