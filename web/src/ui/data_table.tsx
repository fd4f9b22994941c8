// A real table whose columns sort by a button in their heading. The roles say again what the elements
// are: a browser forgets it where a narrow screen lays rows out as cards.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface Column<Row> {
  name: string;
  label: ComponentChildren;
  /** For a narrow screen's cards and for screen readers, where the label is no text. */
  text?: string;
  /** What the label means, for who points at it. */
  hint?: string;
  num?: boolean;
  head?: boolean;
  class?: string;
  sort?: (row: Row) => number | string | null;
  cell: (row: Row) => ComponentChildren;
}

interface Props<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  key_of: (row: Row) => string;
  /** On a narrow screen every row becomes a card. */
  cards?: boolean;
  /** Name of a column, with a minus before it for the largest first. */
  sorted?: string;
}

export function compare(x: number | string | null, y: number | string | null): number {
  if (x === null || y === null) return Number(x === null) - Number(y === null);
  if (typeof x === "number" && typeof y === "number") return x - y;
  return String(x).localeCompare(String(y), "en", { numeric: true });
}

export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  by: string,
): readonly Row[] {
  const down = by.startsWith("-");
  const sort = columns.find((column) => column.name === by.replace(/^-/, ""))?.sort;
  if (!sort) return rows;
  const known = rows.filter((row) => sort(row) !== null);
  const sorted = known.sort((x, y) => (down ? -1 : 1) * compare(sort(x), sort(y)));
  return [...sorted, ...rows.filter((row) => sort(row) === null)];
}

export function DataTable<Row>(props: Props<Row>) {
  const [by, setBy] = useState(props.sorted ?? "");
  const rows = sortRows(props.rows, props.columns, by);
  return (
    <table class={props.cards ? "cards" : ""} role="table">
      <caption class="hidden">{props.caption}</caption>
      <thead role="rowgroup">
        <tr role="row">
          {props.columns.map((column) => (
            <Heading key={column.name} column={column} by={by} choose={setBy} />
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={props.key_of(row)} role="row">
            {props.columns.map((column) => (
              <Cell key={column.name} column={column} row={row} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface HeadingProps<Row> {
  column: Column<Row>;
  by: string;
  choose: (by: string) => void;
}

function Heading<Row>({ column, by, choose }: HeadingProps<Row>) {
  const mine = by.replace(/^-/, "") === column.name;
  const down = by.startsWith("-");
  const next = mine
    ? down
      ? column.name
      : `-${column.name}`
    : `${column.num ? "-" : ""}${column.name}`;
  return (
    <th
      scope="col"
      role="columnheader"
      class={column.num ? "num" : ""}
      title={column.hint}
      aria-sort={mine ? (down ? "descending" : "ascending") : undefined}
    >
      {column.sort ? (
        <button type="button" onClick={() => choose(next)}>
          {column.label}
          <span aria-hidden="true">{mine ? (down ? "↓" : "↑") : ""}</span>
        </button>
      ) : (
        column.label
      )}
    </th>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const name = `${column.num ? "num" : ""} ${column.class ?? ""}`;
  if (column.head)
    return (
      <th scope="row" role="rowheader" class={name}>
        {column.cell(row)}
      </th>
    );
  const label = column.text ?? (typeof column.label === "string" ? column.label : undefined);
  return (
    <td role="cell" class={name} data-label={label || undefined}>
      {column.cell(row)}
    </td>
  );
}
