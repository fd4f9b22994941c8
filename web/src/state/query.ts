// A view's state is its address: `#/fleet?period=30d&where=family:dlrm&by=team`. This is the pure
// part: text to state and back. A state that says only what is usual leaves nothing in the text.

export type View = "fleet" | "regressions" | "jobs" | "job";
export type Query = Readonly<Record<string, readonly string[]>>;
export interface Address {
  view: View;
  /** Only of view "job". */
  job: string;
  query: Query;
  /** What the address asked for, where there is no such view. */
  unknown?: string;
}

const VIEWS: readonly View[] = ["fleet", "regressions", "jobs", "job"];
export const HOME: Address = { view: "fleet", job: "", query: {} };

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#/, "");
  const [path = "", search = ""] = splitOnce(text, "?");
  const [, word = "", ...rest] = path.split("/");
  const query: Record<string, string[]> = {};
  for (const [name, value] of new URLSearchParams(search)) (query[name] ??= []).push(value);
  const view = VIEWS.find((known) => known === word) ?? "fleet";
  const job = decoded(rest.join("/"));
  if (view === "job") return job ? { view, job, query } : { view: "jobs", job: "", query };
  return { view, job: "", query, ...(word && word !== view ? { unknown: word } : {}) };
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

// Commas, colons and spaces of dimensions stay readable in links.
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%2C", ",");
}

export function addressText(address: Address): string {
  const path = address.view === "job" ? `/job/${encoded(address.job)}` : `/${address.view}`;
  const parts = Object.keys(address.query)
    .sort()
    .flatMap((name) => (address.query[name] ?? []).map((v) => `${encoded(name)}=${encoded(v)}`));
  return `#${path}${parts.length ? `?${parts.join("&")}` : ""}`;
}

export type Changes = Record<string, string | readonly string[] | null | undefined>;

/** A query with some names replaced; null, "" and [] take a name away. */
export function changed(query: Query, changes: Changes): Query {
  const next: Record<string, readonly string[]> = { ...query };
  for (const [name, value] of Object.entries(changes)) {
    const list = value == null || value === "" ? [] : typeof value === "string" ? [value] : value;
    if (list.length) next[name] = list;
    else delete next[name];
  }
  return next;
}

export function first(query: Query, name: string): string | undefined {
  return query[name]?.[0];
}

/** The value if it is one of those known, else the usual one. */
export function choice<T extends string>(
  query: Query,
  name: string,
  known: readonly T[],
  usual: T,
): T {
  const value = first(query, name);
  return known.find((word) => word === value) ?? usual;
}
