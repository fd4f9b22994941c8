"""The failure classifier against the same rules in Python's `re`, in megabytes of log a second.

Ours goes from the log's bytes to the verdict: lines, prefixes, noise, progress, rules. The peer has
only to find each line's rule, which is less, in the faster of two ways: one combined alternation as
a filter with single rules behind it, or every rule by itself. Both are charged processor time and
take turns, round by round; the peer gets the beginning of the same log, since it is slow. All
speeds are medians. `classify_unlike` is the same log with a random word at the end of each line, so
that nothing can be remembered from one line to the next. Prints one JSON row a line.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tomllib
from training_log import training_log

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEADWAY_BUILD", ROOT / "build"))
PROGRAM = BUILD / "bin/bench_classify"
SEED = 7
PASSES = 5  # of ours in each round
Find = Callable[[str], str | None]


def log_rules() -> list[tuple[str, re.Pattern[str]]]:
    """Ids and patterns of the rules that look at logs, the best first."""
    document = tomllib.loads((ROOT / "src/failure/rules.toml").read_text())
    rules = [rule for rule in document["rule"] if "log" in rule["where"]]
    rules.sort(key=lambda rule: -rule["priority"])
    return [(rule["id"], re.compile(rule["pattern"])) for rule in rules]


def each_by_itself(rules: list[tuple[str, re.Pattern[str]]]) -> Find:
    searches = [(name, pattern.search) for name, pattern in rules]

    def find(line: str) -> str | None:
        for name, search in searches:
            if search(line):
                return name
        return None

    return find


def combined(rules: list[tuple[str, re.Pattern[str]]]) -> Find:
    # A flag for the whole of a pattern has to become one for its group.
    parts = [re.sub(r"^\(\?i\)(.*)$", r"(?i:\1)", pattern.pattern) for _, pattern in rules]
    search_any = re.compile("|".join(f"(?:{part})" for part in parts)).search
    search_each = each_by_itself(rules)

    def find(line: str) -> str | None:
        return search_each(line) if search_any(line) else None

    return find


def peer_mb_per_s(find: Find, text: str) -> tuple[float, int]:
    """Its speed, and how many lines some rule knows."""
    begin = time.process_time()
    found = sum(find(line) is not None for line in text.split("\n"))
    return len(text.encode()) / 1e6 / (time.process_time() - begin), found


def ours_mb_per_s(path: Path) -> float:
    done = subprocess.run(
        [PROGRAM, str(path), str(PASSES)], check=True, capture_output=True, text=True
    )
    row = json.loads(done.stdout)
    assert row["category"] == "gpu_oom", row
    return row["mb_per_s"]


def measure(text: str, rounds: int, peer_bytes: int) -> tuple[float, float, str]:
    """The medians of ours and of the peer, and the peer's better way."""
    rules = log_rules()
    ways = {"combined": combined(rules), "one by one": each_by_itself(rules)}
    ours: list[float] = []
    peers: dict[str, list[float]] = {way: [] for way in ways}
    found: set[int] = set()
    with tempfile.TemporaryDirectory(prefix="bench-classify-") as folder:
        path = Path(folder) / "train.log"
        path.write_text(text)
        for _ in range(rounds):
            ours.append(ours_mb_per_s(path))
            for way, find in ways.items():
                speed, lines = peer_mb_per_s(find, text[:peer_bytes])
                peers[way].append(speed)
                found.add(lines)
    assert len(found) == 1 and min(found) > 0, f"the two ways disagree: {found}"
    way, speeds = max(peers.items(), key=lambda item: statistics.median(item[1]))
    return statistics.median(ours), statistics.median(speeds), way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=32)
    parser.add_argument("--peer-kilobytes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for name, unlike in (("classify_mb_per_s", False), ("classify_unlike_mb_per_s", True)):
        text = training_log(SEED, args.megabytes * 1_000_000, unlike)
        ours, peer, way = measure(text, args.rounds, args.peer_kilobytes * 1000)
        row = {"name": name, "unit": "MB/s", "ours": ours, "peer": peer, "better": "higher"}
        print(json.dumps(row | {"peer_name": f"Python's re, the same rules, {way}"}), flush=True)


if __name__ == "__main__":
    main()
