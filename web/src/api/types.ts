// What the collector's API answers with, field by field: docs/serve.md and docs/formats/report.md.
// Nothing else in the page declares a shape of the wire.

export type Dimension =
  | "family"
  | "team"
  | "cluster"
  | "hardware"
  | "size"
  | "torch"
  | "priority"
  | "revision"
  | "config";

export type Weight = "device" | "job";
export type Key = Partial<Record<string, string>>;

/** A number with its doubt (95%). Each part is null where there is nothing to say. */
export interface Doubt {
  value: number | null;
  low: number | null;
  high: number | null;
}

export interface Quantiles {
  count: number;
  mean: Doubt;
  p50: number | null;
  p90: number | null;
}

export interface Status {
  version: string;
  store: string;
  demo: boolean;
  tenant: string;
  role: "read" | "admin" | "open";
  now_ns: number;
  jobs: number;
  jobs_running: number;
  attempts: number;
  batches: number;
  records: number;
  started_ns: number;
}

export interface DimensionValues {
  name: Dimension;
  values: { value: string; attempts: number; device_hours: number }[];
  more: number;
}
export interface Dimensions {
  dimensions: DimensionValues[];
  levers: { name: string; attempts: number }[];
  first_day: string | null;
  last_day: string | null;
}

/** What caches of torch.compile were worth to the attempts that compiled. */
export interface GroupCache {
  attempts: number;
  asked: number;
  unpacked: number;
  unpacked_pct: number;
  told: number;
  hits: number;
  misses: number;
  bypasses: number;
  hit_pct: number | null;
  coverage_pct: number | null;
  original_s: number | null;
  spent_s: number | null;
  saved_s: number | null;
  saved_device_hours: number | null;
}
export interface Group {
  key: Key;
  jobs: number;
  attempts: number;
  running: number;
  device_hours: number;
  wall_ns: number;
  queued_ns: number;
  ett_pct: Doubt;
  idleness_pct: Doubt;
  failure_pct: Doubt;
  time_to_start_s: Quantiles | null;
  time_to_recover_s: Quantiles | null;
  failures: number;
  user_errors: number;
  preemptions: number;
  failures_per_1000_device_hours: Doubt;
  unsaved_device_hours: number;
  checkpoint_blocked_pct: number | null;
  saves: number;
  compile_cache: GroupCache | null;
  buckets: Record<string, number>;
  unit: "device_hours" | "pct";
}
export interface Rollup {
  from: string;
  to: string;
  weight: Weight;
  by: string[];
  groups: Group[];
  more: number;
  total: Group;
}

export type Metric =
  | "ett_pct"
  | "idleness_pct"
  | "failure_pct"
  | "time_to_start_s"
  | "time_to_recover_s"
  | "failures_per_1000_device_hours"
  | "unsaved_pct"
  | "checkpoint_blocked_pct";

export interface TrendSeries {
  key: Key;
  value: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  device_hours: (number | null)[];
}
export interface Trend {
  metric: string;
  unit: string;
  days: string[];
  series: TrendSeries[];
}

export interface Loss {
  bucket: string;
  label: string;
  group: string;
  device_hours: number;
  share_pct: number;
  attempts: number;
  worst: { job: string; attempt: number; device_hours: number }[];
  advice: string;
}
export interface Losses {
  device_hours: number;
  ett_pct: number | Doubt | null;
  losses: Loss[];
}

export interface WaterfallSide extends Doubt {
  count: number;
}
export interface WaterfallStep {
  name: string;
  label: string;
  kind: "component" | "lever" | "mix" | "appeared" | "vanished";
  delta: number;
  low: number | null;
  high: number | null;
}
export interface Waterfall {
  metric: string;
  unit: string;
  split: "component" | "lever";
  a: WaterfallSide;
  b: WaterfallSide;
  steps: WaterfallStep[];
}

export interface FailureCategory {
  category: string;
  origin: string;
  count: number;
  jobs: number;
  device_hours_lost: number;
  unsaved_device_hours: number;
  time_to_recover_s: Quantiles | null;
  last: { job: string; attempt: number; t_ns: number } | null;
}
export interface Failures {
  categories: FailureCategory[];
  device_hours_lost: number;
}

export interface Host {
  host: string;
  attempts: number;
  device_hours: number;
  failures: number;
  expected: number;
  score: number;
  q_value: number | null;
  lemon: boolean;
  device_hours_lost: number;
  last_failure_ns: number | null;
}
export interface Hosts {
  hosts: Host[];
  fleet_failures_per_1000_device_hours: number | Doubt | null;
}

export interface RegressionTerm {
  name: string;
  label: string;
  kind: "mix" | "preemption" | "failure" | "stage";
  delta_pct: number;
}
export interface Regression {
  id: number;
  component: string;
  label: string;
  stratum: Key;
  began_ns: number;
  began_low_ns: number;
  began_high_ns: number;
  found_ns: number;
  before: number;
  after: number;
  unit: string;
  change_pct: number | null;
  device_hours_per_day: number;
  q_value: number;
  state: "open" | "acknowledged" | "gone";
  acknowledged: { by: string; at_ns: number; note: string } | null;
  terms: RegressionTerm[];
  dip_pct: number | null;
  separates: {
    field: string;
    value: string;
    before_pct: number;
    after_pct: number;
    score: number;
  }[];
  attempts: { job: string; attempt: number }[];
  time_to_alert_s: number | null;
}
export interface Sla {
  component: string;
  target_s: number;
  p50_s: number | null;
  p90_s: number | null;
  alerts: number;
}
export interface Regressions {
  regressions: Regression[];
  sla: Sla[];
  checked_ns: number | null;
  series: number;
  attempts_left_out: number;
}

export interface JobRow {
  job: string;
  state: string;
  first_ns: number;
  heard_ns: number;
  dimensions: Key;
  devices: number;
  attempts: number;
  wall_ns: number;
  ett_pct: number | null;
  failures: number;
}
export interface Jobs {
  jobs: JobRow[];
  next: string | null;
}

export type Ns = Record<string, number>;

export interface ReportFailure {
  t_ns: number;
  attempt: number;
  rank: number | null;
  origin: string;
  category: string | null;
  lost_ns: number;
  unsaved_ns: number;
  time_to_recover_ns: number | null;
  time_to_new_data_ns: number | null;
  reason: string;
  exit_code: number;
  signal: number;
  log: string | null;
}
export interface ReportAttempt {
  attempt: number;
  begin_ns: number;
  end_ns: number;
  outcome: "running" | "clean" | "failed";
  steps: number;
  replayed_steps: number;
  first_step: number;
  last_step: number;
  restored_step: number | null;
  restored_tier: string;
  ranks: number;
  l2: Ns;
  l3: Ns;
}
export interface ReportRank {
  rank: number;
  host: string;
  steps: number;
  critical_steps: number;
  held_up_ns: number;
  straggler: boolean;
  slow_in: string | null;
  l2: Ns;
}
/** Ranks of an attempt that missed and found as many graphs. */
export interface MissedRow {
  attempt: number;
  /** "0-7,12", with ",…" at its end where there are more. */
  ranks: string;
  count: number;
  misses: number;
  hits: number;
}
export interface CompileCache {
  hits: number;
  misses: number;
  bypasses: number;
  hit_pct: number | null;
  coverage_pct: number | null;
  builds: number;
  ranks: number;
  worst_rank: number | null;
  worst_misses: number;
  missed: MissedRow[];
  missed_left_out: number;
  original_ns: number;
  saved_ns: number;
  pulled_archives: number;
  pulled_files: number;
  pulled_bytes: number;
  pull_ns: number;
}
export interface Report {
  job: string;
  running: boolean;
  state: string;
  begin_ns: number;
  end_ns: number;
  wall_ns: number;
  queued_ns: number;
  between_runs_ns: number;
  ett_pct: number;
  idleness_pct: number;
  failure_pct: number;
  failure_ns: number;
  l1: {
    time_to_start_ns: number | null;
    time_to_recover_ns: number[];
    time_to_new_data_ns: number[];
    failures: number;
    user_errors: number;
    preemptions: number;
  };
  l2: Ns;
  l3: Ns;
  compile: Ns;
  wasted: Ns;
  shutdown: Ns;
  compile_cache?: CompileCache;
  unsaved_ns: number;
  checkpoint: {
    saves: number;
    failed: number;
    blocked_ns: number;
    interval_s: number | null;
    restarts: Record<string, number>;
  };
  steps: {
    finished: number;
    replayed: number;
    mean_ns: number | null;
    p50_ns: number | null;
    p99_ns: number | null;
    max_ns: number | null;
    last_end_ns: number | null;
  };
  failures: ReportFailure[];
  attempts: ReportAttempt[];
  ranks: ReportRank[];
  critical_stages: { stage: string; attempt: number; rank: number; held_up_ns: number }[];
  spans: Ns;
  attrs: Record<string, string>;
  coverage: {
    ranks_reporting: number;
    ranks_expected: number;
    dropped_records: number;
    damaged_records: number;
    gaps_ns: number;
    notes: string[];
    missing_marks: string[];
  };
}

/** Segments of a lane are parallel arrays of ns offsets from the answer's `from_ns`. */
export interface WireLane {
  attempt: number;
  rank: number | null;
  host: string;
  start: number[];
  end: number[];
  b: number[];
  exact: boolean;
}
export interface TimelineAnswer {
  from_ns: number;
  to_ns: number;
  begin_ns: number;
  end_ns: number;
  buckets: string[];
  lanes: WireLane[];
  checkpoints: { t_ns: number; step: number; state: string; attempt: number }[];
  failures: {
    t_ns: number;
    attempt: number;
    rank: number | null;
    origin: string;
    category: string | null;
    reason: string;
  }[];
  ranks: number;
  ranks_shown: number;
  /** False: asked again, there are more rows. */
  complete: boolean;
}

export interface Advice {
  advice: { title: string; text: string; saves_pct: number | null }[];
}

export type LiveEvent =
  | { kind: "job"; job: string; state: string }
  | { kind: "fleet"; version: number }
  | { kind: "regression"; id: number; state: string };
