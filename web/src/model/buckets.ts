// The buckets of the partition and their groups: names of the wire, words for people, and the one
// colour a group has everywhere (src/style/tokens.css holds the values for both themes).

export const GROUPS = [
  "scheduling",
  "hardware_setup",
  "launcher_init",
  "compile",
  "effective",
  "wasted",
  "shutdown",
  "down",
] as const;
export type GroupName = (typeof GROUPS)[number];

export interface Bucket {
  name: string;
  group: GroupName;
  label: string;
}

const rows: [string, GroupName, string][] = [
  ["scheduling", "scheduling", "scheduling"],
  ["hardware_setup", "hardware_setup", "hardware set-up"],
  ["imports", "launcher_init", "imports"],
  ["device_init", "launcher_init", "device init"],
  ["process_group_init", "launcher_init", "process groups"],
  ["preproc_creation", "launcher_init", "data pipeline set-up"],
  ["train_module_creation", "launcher_init", "model creation"],
  ["init_plugins", "launcher_init", "optimizer and plug-ins"],
  ["pre_train", "launcher_init", "before training"],
  ["get_first_batch_data", "launcher_init", "first batch"],
  ["restore", "launcher_init", "restore"],
  ["init_other", "launcher_init", "other start-up"],
  ["compile_cold", "compile", "cold compile"],
  ["compile_warm", "compile", "warm compile"],
  ["data_wait", "wasted", "waiting for data"],
  ["recompile", "wasted", "recompiling"],
  ["effective", "effective", "effective training"],
  ["replay", "wasted", "replayed steps"],
  ["interrupted_step", "wasted", "interrupted step"],
  ["hang", "wasted", "hanging"],
  ["eval", "wasted", "evaluation"],
  ["checkpoint_blocked", "wasted", "blocked by a save"],
  ["wasted_other", "wasted", "other waste"],
  ["final_save", "shutdown", "final save"],
  ["publish", "shutdown", "publishing"],
  ["shutdown_other", "shutdown", "other shutdown"],
  ["down", "down", "down"],
];

export const BUCKETS: readonly Bucket[] = rows.map(([name, group, label]) => ({
  name,
  group,
  label,
}));
const byName = new Map(BUCKETS.map((bucket) => [bucket.name, bucket]));

const groupLabels: Record<GroupName, string> = {
  scheduling: "scheduling",
  hardware_setup: "hardware set-up",
  launcher_init: "start-up",
  compile: "compile",
  effective: "effective",
  wasted: "wasted",
  shutdown: "shutdown",
  down: "down",
};

export function isGroup(name: string): name is GroupName {
  return (GROUPS as readonly string[]).includes(name);
}

export function groupLabel(name: string): string {
  return isGroup(name) ? groupLabels[name] : plainWords(name);
}

/** A bucket by its name, with or without its group before it (`replay`, `wasted_replay`). */
export function bucketOf(name: string): Bucket | undefined {
  const known = byName.get(name);
  if (known) return known;
  const short = name.replace(/^(wasted|init|shutdown|compile|launcher_init)[_.:]/, "");
  return byName.get(short) ?? byName.get(`compile_${short}`);
}

export function groupOf(name: string): GroupName | undefined {
  return isGroup(name) ? name : bucketOf(name)?.group;
}

export function bucketLabel(name: string): string {
  return bucketOf(name)?.label ?? groupLabel(name);
}

export function plainWords(name: string): string {
  return name.replace(/_(ns|s|pct)$/, "").replaceAll("_", " ");
}

const acronyms: Record<string, string> = {
  gpu: "GPU",
  ecc: "ECC",
  nic: "NIC",
  nccl: "NCCL",
  cuda: "CUDA",
  oom: "out of memory",
};

/** "gpu_ecc" → "GPU ECC". */
export function categoryWords(name: string): string {
  return plainWords(name)
    .split(" ")
    .map((word) => acronyms[word] ?? word)
    .join(" ");
}

/** Whose doing a failure is; what is the user's or the scheduler's is in no count of failures. */
export function originWords(origin: string): string {
  if (origin === "user") return "user error, counted apart";
  return origin === "preemption" ? "preemption, counted apart" : origin;
}

/** What change detection watches, in the words that the rest of the page has for it. */
export function componentWords(component: string, label: string): string {
  const [, kind = "", name = component] = /^(\w+):(.*)$/.exec(component) ?? [];
  if (kind === "failures")
    return name ? `failures by ${categoryWords(name)}` : "failures without a category";
  const bucket = bucketOf(name)?.label;
  if (!bucket) return label;
  if (kind === "recover") return `${bucket} at recovery`;
  if (kind === "often") return `starts with ${bucket}`;
  if (kind === "recover_often") return `recoveries with ${bucket}`;
  return bucket + (/( at start|, share of the loop| at the end)$/.exec(label)?.[0] ?? "");
}

/** Sums of buckets by group, in the order of GROUPS; what nobody knows counts as wasted. */
export function byGroup(buckets: Record<string, number>): Record<GroupName, number> {
  const sums = Object.fromEntries(GROUPS.map((group) => [group, 0])) as Record<GroupName, number>;
  for (const [name, value] of Object.entries(buckets)) sums[groupOf(name) ?? "wasted"] += value;
  return sums;
}

/** The CSS custom property that holds a group's colour. */
export function groupColor(name: string): string {
  return `var(--group-${groupOf(name) ?? "wasted"})`;
}
