"""A TORCH_TRACE log of any size, from a real one:

    python bench/trace/grow.py REAL_DIR OUT.log MEGABYTES

The real records again and again, as if the same process had gone on to compile more functions of
the same kind: each copy has frame numbers and times of its own, in the records' heads and in the
payloads of events, whose MD5 is made anew. Every other payload is what torch wrote, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

ID = re.compile(r"^(\d+)/(\d+)")
TIMES = ("start_time_us", "end_time_us", "ts")


class Record(NamedTuple):
    prefix: str
    head: dict[str, Any]
    payload: str | None  # with its tabs and line breaks


def read(path: Path) -> list[Record]:
    records: list[Record] = []
    for text in re.split(r"^(?=[VDIWE]\d{4} )", path.read_text(), flags=re.M):
        first, _, rest = text.partition("\n")
        at = first.find("] {")
        if at >= 0:
            records.append(Record(first[: at + 2], json.loads(first[at + 2 :]), rest or None))
    return records


def moved(told: dict[str, Any], frames: int, later_us: float) -> dict[str, Any]:
    """What names a frame or an instant, of another copy."""
    out = dict(told)
    for key, value in told.items():
        if key in TIMES and value is not None:
            out[key] = value + later_us
        elif key == "frame_id":
            out[key] = value + frames
        elif key == "compile_id" and isinstance(value, str) and (found := ID.match(value)):
            out[key] = f"{int(found[1]) + frames}/{found[2]}{value[found.end() :]}"
        elif key in ("compilation_metrics", "bwd_compilation_metrics", "args"):
            out[key] = moved(value, frames, later_us)
    return out


def tabbed(text: str) -> str:
    return "".join(f"\t{line}\n" for line in text.split("\n"))


def copy_of(record: Record, frames: int, later_us: float) -> str:
    head, payload = moved(record.head, frames, later_us), record.payload
    if "chromium_event" in head and payload:
        text = json.dumps(moved(json.loads(payload), frames, later_us), indent=0)
        head["has_payload"] = hashlib.md5(text.encode()).hexdigest()
        payload = tabbed(text)
    return f"{record.prefix}{json.dumps(head)}\n{payload or ''}"


def main() -> None:
    source, target, megabytes = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    records = [one for path in sorted(source.glob("*.log")) for one in read(path)]
    frames = 1 + max(one.head.get("frame_id") or 0 for one in records)
    starts = [
        one.head["compilation_metrics"] for one in records if "compilation_metrics" in one.head
    ]
    instants = [start[key] for start in starts for key in ("start_time_us", "end_time_us")]
    lasted_us = max(instants) - min(instants)
    with target.open("w") as out:
        number = 0
        while out.tell() < megabytes * 1_000_000:
            for one in records:
                if number == 0 or "str" not in one.head:  # file names are numbered once
                    out.write(copy_of(one, number * frames, number * lasted_us))
            number += 1
    print(
        f"{number} copies of {len(records)} records, {target.stat().st_size / 1e6:.0f} MB",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
