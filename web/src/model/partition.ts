// A report's division of wall time as one list of buckets. Pure.

import type { Report } from "../api/types";
import { bucketOf, type GroupName, GROUPS } from "./buckets";

export interface Part {
  bucket: string;
  label: string;
  group: GroupName;
  ns: number;
}

/** Keys end in `_ns`; `other` is of the group that `rename` says. */
function take(from: Record<string, number>, rename: (name: string) => string): [string, number][] {
  return Object.entries(from).map(([key, ns]) => [rename(key.replace(/_ns$/, "")), ns]);
}

export function partsOf(report: Report): Part[] {
  const l2 = (name: string): [string, number] => [name, report.l2[`${name}_ns`] ?? 0];
  const pairs: [string, number][] = [
    l2("scheduling"),
    l2("hardware_setup"),
    ...take(report.l3, (name) => (name === "other" ? "init_other" : name)),
    ...take(report.compile, (name) => `compile_${name}`),
    l2("effective"),
    ...take(report.wasted, (name) => (name === "other" ? "wasted_other" : name)),
    ...take(report.shutdown, (name) => (name === "other" ? "shutdown_other" : name)),
    l2("down"),
  ];
  return pairs.flatMap(([name, ns]) => {
    const bucket = bucketOf(name);
    return bucket ? [{ bucket: bucket.name, label: bucket.label, group: bucket.group, ns }] : [];
  });
}

export function groupSums(parts: readonly Part[]): Record<GroupName, number> {
  const sums = Object.fromEntries(GROUPS.map((group) => [group, 0])) as Record<GroupName, number>;
  for (const part of parts) sums[part.group] += part.ns;
  return sums;
}

/** `l2` of an attempt or a rank. */
export function l2Sums(l2: Record<string, number>): Record<GroupName, number> {
  return Object.fromEntries(GROUPS.map((group) => [group, l2[`${group}_ns`] ?? 0])) as Record<
    GroupName,
    number
  >;
}

export function mean(values: readonly number[]): number | null {
  return values.length ? values.reduce((sum, x) => sum + x, 0) / values.length : null;
}
