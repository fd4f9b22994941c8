// All jobs, the last heard of first; rows change as jobs do.

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "../api/client";
import { onEvent } from "../api/live";
import type { Dimensions, JobRow, Jobs } from "../api/types";
import { useApi } from "../api/use_api";
import { nowNs } from "../model/clock";
import { ago, count, durationInColumn, percent, plural } from "../model/format";
import { change, useAddress } from "../state/address";
import { apiPath, filters } from "../state/fleet_state";
import { first, type Query } from "../state/query";
import { mention } from "../ui/announce";
import { Filters, Select, StateBadge } from "../ui/controls";
import { pinInLinks } from "../ui/copy_link";
import { type Column, DataTable } from "../ui/data_table";
import { Panel } from "../ui/panel";

const LIMIT = 100;
const TYPING_MS = 250;
const STATES = ["running", "restarting", "finished", "stopped", "failed", "unended"];

function columns(now_ns: number): readonly Column<JobRow>[] {
  return [
    {
      name: "job",
      label: "Job",
      head: true,
      sort: (row) => row.job,
      cell: (row) => <a href={`#/job/${encodeURIComponent(row.job)}`}>{row.job}</a>,
    },
    {
      name: "state",
      label: "State",
      sort: (row) => row.state,
      cell: (row) => <StateBadge state={row.state} />,
    },
    {
      name: "ett",
      label: "ETT%",
      num: true,
      sort: (row) => row.ett_pct,
      cell: (row) => <EttCell value={row.ett_pct} />,
    },
    {
      name: "devices",
      label: "Devices",
      num: true,
      sort: (row) => row.devices,
      cell: (row) => count(row.devices),
    },
    {
      name: "wall",
      label: "Wall time",
      num: true,
      sort: (row) => row.wall_ns,
      cell: (row) => durationInColumn(row.wall_ns / 1e9),
    },
    {
      name: "attempts",
      label: "Attempts",
      num: true,
      sort: (row) => row.attempts,
      cell: (row) => count(row.attempts),
    },
    {
      name: "failures",
      label: "Failures",
      hint: "Of infrastructure or unknown origin; user errors and preemptions are counted apart",
      num: true,
      sort: (row) => row.failures,
      cell: (row) => <span class={row.failures ? "" : "muted"}>{count(row.failures)}</span>,
    },
    {
      name: "what",
      label: "Dimensions",
      text: "",
      class: "whole-row",
      cell: (row) => (
        <span class="muted">
          {["team", "cluster", "hardware", "revision", "priority"]
            .flatMap((name) => (row.dimensions[name] ? [row.dimensions[name]] : []))
            .join(" · ")}
        </span>
      ),
    },
    {
      name: "heard",
      label: "Heard of",
      num: true,
      sort: (row) => row.heard_ns,
      cell: (row) => ago(row.heard_ns, now_ns),
    },
  ];
}

function EttCell({ value }: { value: number | null }) {
  return (
    <span class="ett-cell">
      {percent(value)}
      <span class="track" aria-hidden="true">
        <i style={{ width: `${value ?? 0}%`, background: "var(--group-effective)" }} />
      </span>
    </span>
  );
}

function listPath(query: Query, before?: string): string {
  return apiPath("/jobs", {
    limit: String(LIMIT),
    state: first(query, "state"),
    text: first(query, "text"),
    where: filters(query, "where"),
    before,
  });
}

/** Pages after the first: fetched on demand, forgotten when the question changes. */
function useMore(query: Query, next: string | null) {
  const [pages, setPages] = useState<Jobs[]>([]);
  const [error, setError] = useState("");
  const path = listPath(query);
  useEffect(() => setPages([]), [path]);
  const cursor = pages.length ? (pages.at(-1)?.next ?? null) : next;
  const more = async (): Promise<void> => {
    if (cursor === null) return;
    try {
      const page = await get<Jobs>(listPath(query, cursor));
      setPages([...pages, page]);
      setError("");
    } catch (failure) {
      setError(failure instanceof ApiError ? failure.message : String(failure));
    }
  };
  return { rows: pages.flatMap((page) => page.jobs), cursor, more, error };
}

/** What a stream of events says about jobs is told every few seconds, not each time. */
function useMentions(): void {
  useEffect(() => {
    const states = new Map<string, string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onEvent((event) => {
      if (event.kind !== "job") return;
      if (states.get(event.job) === event.state) return;
      states.set(event.job, event.state);
      timer ??= setTimeout(() => {
        timer = undefined;
        mention(
          [...states]
            .slice(-3)
            .map(([job, state]) => `${job}: ${state}`)
            .join(", "),
        );
      }, 5000);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
}

export function JobsView() {
  const { query } = useAddress();
  const answer = useApi<Jobs>(listPath(query));
  const dimensions = useApi<Dimensions>("/api/v1/fleet/dimensions");
  const more = useMore(query, answer.data?.next ?? null);
  const newest = Math.max(0, ...(answer.data?.jobs.map((row) => row.heard_ns) ?? []));
  const now_ns = Math.max(newest, nowNs());
  pinInLinks({});
  useMentions();
  const seen = new Set(answer.data?.jobs.map((row) => row.job));
  const rows = [...(answer.data?.jobs ?? []), ...more.rows.filter((row) => !seen.has(row.job))];
  const running = rows.filter((row) => row.state === "running").length;
  const asked = first(query, "text") || first(query, "state") || query["where"];
  return (
    <>
      <h1 class="hidden">Jobs</h1>
      <JobControls query={query} dimensions={dimensions.data} />
      <Panel
        id="jobs"
        title="Jobs"
        note={
          answer.data &&
          `${plural(rows.length, "job")}${more.cursor === null ? "" : " and more"}, ${running} running; user errors and preemptions are not among the failures`
        }
        answer={answer}
        rows={16}
        empty={(data) =>
          data.jobs.length
            ? null
            : asked
              ? "No job fits. Take a filter away, or search for less."
              : `No job has been sent yet. Start one with \`headway run --collector ${location.origin} train.py\`, or send what one has recorded: \`headway ship JOB --to ${location.origin}\`.`
        }
      >
        {() => (
          <>
            <div class="scroll tall">
              <DataTable
                caption="Jobs"
                columns={columns(now_ns)}
                rows={rows}
                key_of={(row) => row.job}
                cards
              />
            </div>
            {more.cursor !== null && (
              <button type="button" onClick={() => void more.more()}>
                Show {LIMIT} more
              </button>
            )}
            {more.error && <p class="bad">{more.error}</p>}
          </>
        )}
      </Panel>
    </>
  );
}

function JobControls({ query, dimensions }: { query: Query; dimensions: Dimensions | null }) {
  const [text, setText] = useState(first(query, "text") ?? "");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(first(query, "text") ?? ""), [first(query, "text")]);
  const typed = (value: string): void => {
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change({ text: value }, "replace"), TYPING_MS);
  };
  return (
    <form
      class="controls"
      role="search"
      aria-label="Jobs"
      onSubmit={(event) => event.preventDefault()}
    >
      <label>
        <span class="hidden">Search by name</span>
        <input
          type="search"
          placeholder="Search by name"
          value={text}
          onInput={(event) => typed(event.currentTarget.value)}
        />
      </label>
      <Select
        label="State"
        value={first(query, "state") ?? ""}
        options={[{ value: "", label: "any" }, ...STATES.map((value) => ({ value, label: value }))]}
        choose={(state) => change({ state })}
      />
      <Filters
        name="where"
        label="Add filter"
        where={filters(query, "where")}
        dimensions={dimensions}
      />
    </form>
  );
}
