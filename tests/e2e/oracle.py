"""What the report must say, worked out from the trainers' own diaries by the rule of the design: at
each gate (the last rank's end of a stage or step) the rank that came last is charged."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

STAGES = (
    "imports",
    "process_group_init",
    "preproc_creation",
    "train_module_creation",
    "init_plugins",
    "restore",
)


@dataclass
class Rank:
    spans: list[tuple[str, int, int]] = field(default_factory=list)
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)


def read_diaries(folder: Path, attempt: int) -> list[Rank]:
    ranks = []
    for path in sorted(folder.glob(f"{attempt}-*.jsonl")):
        rank = Rank()
        first_batch = True
        for line in path.read_text().splitlines():
            row = json.loads(line)
            what, begin, end = row["what"], row["begin"], row["end"]
            if what == "step":
                rank.steps[row["step"]] = (begin, end)
            elif what == "batch":
                what = "get_first_batch_data" if first_batch else "data_wait"
                if first_batch:
                    last = max(e for _, _, e in rank.spans)
                    rank.spans.append(("pre_train", last, begin))
                first_batch = False
                rank.spans.append((what, begin, end))
            elif what not in ("ended", "sleeping"):
                rank.spans.append((what, begin, end))
        ranks.append(rank)
    return ranks


def gates_of(ranks: list[Rank]) -> list[tuple[int, Rank]]:
    """(time, rank that came last) of every start-up stage, then of every step all ranks ended."""
    gates = []
    ends: dict[tuple[str, int], list[tuple[int, Rank]]] = defaultdict(list)
    for rank in ranks:
        seen: dict[str, int] = defaultdict(int)
        for what, _begin, end in rank.spans:
            if what in STAGES or what in ("pre_train", "get_first_batch_data"):
                ends[what, seen[what]].append((end, rank))
                seen[what] += 1
    for at in ends.values():
        gates.append(max(at, key=lambda pair: pair[0]))
    common = set.intersection(*(set(rank.steps) for rank in ranks))
    for step in sorted(common):
        gates.append(max(((r.steps[step][1], r) for r in ranks), key=lambda pair: pair[0]))
    return sorted(gates, key=lambda pair: pair[0])


def account(ranks: list[Rank], begin: int) -> dict[str, int]:
    """Nanoseconds by what was going on, from `begin` to the last gate."""
    totals: dict[str, int] = defaultdict(int)
    at = begin
    for end, rank in gates_of(ranks):
        covered = 0
        for what, t0, t1 in rank.spans:
            part = max(0, min(t1, end) - max(t0, at))
            totals[what] += part
            covered += part
        totals["rest"] += max(0, end - at) - covered
        at = max(at, end)
    return totals


def compile_choices(ranks: list[Rank]) -> list[int]:
    """What compilation may come to: of each gate's interval, either rank's part of it. Ranks that a
    collective releases together end a step within microseconds of each other, so that which of
    them is charged is the attribution's to say; the clock readings stay the ranks' own."""
    totals = {0}
    at = 0
    for end, _last in gates_of(ranks):
        parts = {
            sum(max(0, min(t1, end) - max(t0, at)) for w, t0, t1 in rank.spans if w == "compile")
            for rank in ranks
        }
        totals = {total + part for total in totals for part in parts}
        at = max(at, end)
    return sorted(totals)
