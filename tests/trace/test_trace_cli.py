"""Logs that are no logs, are cut, or were changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from program import HEADWAY

Run = Callable[..., subprocess.CompletedProcess[str]]

PREFIX = "V1117 12:13:13.262000 11797 torch/_dynamo/x.py:1] "


def record(head: dict[str, object], payload: str | None = None) -> str:
    if payload is not None:
        head = {**head, "has_payload": hashlib.md5(payload.encode()).hexdigest()}
    lines = [PREFIX + json.dumps(head)]
    if payload is not None:
        lines += ["\t" + line for line in payload.split("\n")]
    return "\n".join(lines) + "\n"


def reasons(text: str) -> str:
    ids = {"frame_id": 0, "frame_compile_id": 1, "attempt": 0}
    return record({"artifact": {"name": "recompile_reasons", "encoding": "json"}, **ids}, text)


def test_what_is_no_log(headway: Run, tmp_path: Path) -> None:
    error = headway("trace", tmp_path / "nowhere", code=2).stderr
    assert error.count("\n") == 1 and "nowhere: cannot open: No such file" in error
    error = headway("trace", tmp_path, code=2).stderr
    assert "no TORCH_TRACE log" in error and f"TORCH_TRACE={tmp_path}" in error
    (tmp_path / "a.log").write_text("hello\n")
    error = headway("trace", tmp_path, code=2).stderr
    assert error.count("\n") == 1 and "no record of TORCH_TRACE is in it (1 other line)" in error


def test_a_payload_that_was_changed(headway: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(reasons("0/0: why\n\nnot"))
    assert "verified" not in headway("trace", log).stdout
    page = headway("trace", log, "--verify").stdout
    assert page.endswith("\n1 payload verified: as torch wrote it\n")
    told = json.loads(headway("trace", log, "--verify", "--json").stdout)
    assert told["logs"][0]["read"]["verified_payloads"] == 1
    twice = tmp_path / "b.log"
    twice.write_text(2 * log.read_text())
    page = headway("trace", twice, "--verify").stdout
    assert page.endswith("\n2 payloads verified: all as torch wrote them\n")
    # What could not be compared is not vouched for.
    twice.write_text(twice.read_text() + log.read_text()[:-3])
    page = headway("trace", twice, "--verify").stdout
    assert page.endswith("verified: all that could be read are as torch wrote them\n")
    twice.write_text(record({"artifact": {"name": "x", "encoding": "json"}}))
    assert "nothing was verified" in headway("trace", twice, "--verify").stdout
    log.write_text(log.read_text().replace("why", "Why"))
    headway("trace", log)
    page = " ".join(headway("trace", log, "--verify", code=1).stdout.split())
    assert "1 payload with another MD5; the first in line 1" in page and "verified" not in page


def test_a_reason_with_a_stack_is_told_once(headway: Run, tmp_path: Path) -> None:
    stack = 'User stack trace:\n  File "/a/train.py", line 5, in forward\n    y = x * n'
    log = tmp_path / "a.log"
    log.write_text(reasons(f"0/0: n == 11\n{stack}"))
    (compile,) = json.loads(headway("trace", log, "--json").stdout)["logs"][0]["compiles"]
    assert compile["recompile_reasons"] == [f"0/0: n == 11\n{stack}"]
    page = headway("trace", log).stdout
    assert "n == 11" in page and "User stack" not in page


def ask(rank: int, outcome: str, **told: object) -> str:
    ids = {"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "rank": rank}
    artifact = {"name": f"fx_graph_cache_{outcome}", "encoding": "json"}
    return record({"artifact": artifact, **ids}, json.dumps({"key": "k", **told}))


def test_what_another_rank_is_still_compiling(headway: Run, tmp_path: Path) -> None:
    for rank in range(2):
        times = {"cache_event_time": 1001 * 10**9 + rank * 10**6, "time_taken_ns": 10**9}
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_x.log").write_text(
            ask(rank, "miss", components=["[A] gm: graph"], **times)
        )
    page = " ".join(headway("trace", tmp_path).stdout.split())
    assert "nothing: the same key, another rank was still compiling it" in page, page
    first, second = json.loads(headway("trace", tmp_path, "--json").stdout)["misses"]
    assert first["nearest"] is None and second["nearest"]["being_made"] and second["rank"] == 1


def test_whose_time_hits_saved(headway: Run, tmp_path: Path) -> None:
    for ranks, told in (
        (1, "hits saved 2.000 s"),
        (2, "hits saved 4.000 s in all processes together"),
    ):
        (tmp_path / f"dedicated_log_torch_trace_rank_{ranks - 1}_x.log").write_text(
            ask(ranks - 1, "hit", time_saved_ns=2 * 10**9)
        )
        page = " ".join(headway("trace", tmp_path).stdout.split())
        assert told in page and ("together" in page) == (ranks > 1), page


def test_a_log_that_is_cut_anywhere(headway: Run, tmp_path: Path) -> None:
    whole = reasons("one\ntwo") + record({"str": ["/a/b.py", 1]}) + reasons("three")
    log = tmp_path / "a.log"
    for end in range(len(reasons("one\ntwo")), len(whole), 37):
        log.write_text(whole[:end])
        told = json.loads(headway("trace", log, "--json").stdout)
        read = told["logs"][0]["read"]
        assert read["bytes"] == end and read["torn_records"] <= 1
        assert read["foreign_lines"] == read["bad_records"] == 0


def test_names_cannot_reach_the_terminal(headway: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(reasons("0/0: \x1b[31mred\x1b[0m"))
    assert "\x1b" not in headway("trace", log).stdout


def test_in_a_narrow_terminal(headway: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(reasons("0/0: " + "a long reason " * 20))
    page = headway("trace", log).stdout
    assert all(len(line) <= 100 for line in page.splitlines()[1:]), page


# By a small process of its own: what is forked counts as large as who forked it.
LARGEST_KIB = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def measured(*arguments: object) -> tuple[str, int]:
    """What headway prints, and the most memory it had."""
    done = subprocess.run(
        [sys.executable, "-c", LARGEST_KIB, str(HEADWAY), *map(str, arguments)],
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout, int(done.stderr)


def test_a_payload_of_two_gib_is_passed_over(tmp_path: Path) -> None:
    """More than a signed length of 32 bits: what follows it is read, and memory is bounded."""
    ids = {"frame_compile_id": 0, "attempt": 0}
    graph = {"dynamo_output_graph": {}, "has_payload": "0" * 32, "frame_id": 0, **ids}
    log = tmp_path / "a.log"
    with log.open("wb") as file:
        file.write(record({"dynamo_start": {"stack": []}, "frame_id": 0, **ids}).encode())
        file.write(record(graph).encode() + b"\t")
        file.seek(2**31, os.SEEK_CUR)  # a hole
        file.write(b"\n" + record({"dynamo_start": {"stack": []}, "frame_id": 1, **ids}).encode())
    text, kib = measured("trace", log, "--json")
    (read,) = json.loads(text)["logs"]
    assert [compile["id"] for compile in read["compiles"]] == ["0/0", "1/0"]
    assert kib < 200 << 10


def test_memory_is_bounded_over_all_logs(headway: Run, tmp_path: Path) -> None:
    """700 ranks say more than is held: that is told, and the first are told whole."""
    lines = []
    for frame in range(300):
        ids = {"frame_id": frame, "frame_compile_id": 0, "attempt": 0}
        parts = [f"[{frame}h{n}] part{n}: text {frame} of {n}" for n in range(60)]
        artifact = {"name": "fx_graph_cache_miss", "encoding": "json"}
        asked = json.dumps({"key": f"{frame:060}", "components": parts})
        lines.append(record({"artifact": artifact, **ids}, asked))
        times = {"co_name": f"function_{frame}", "co_filename": "/a/train.py", "duration_us": 7}
        lines.append(record({"compilation_metrics": times, **ids}))
    one = tmp_path / "one"
    one.write_text("".join(lines))
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in range(700):
        (folder / f"dedicated_log_torch_trace_rank_{rank}_x.log").hardlink_to(one)
    text, kib = measured("trace", folder)
    assert "more than is held in memory: " in text and " left out" in text, text[-2000:]
    assert "did not compile the same" not in text
    assert kib < 200 << 10, kib
    told, kib = measured("trace", folder, "--json")
    assert kib < 200 << 10, kib
    logs = json.loads(told)["logs"]
    assert len(logs) == 700 and logs[0]["no_room"] == 0 < logs[-1]["no_room"]
    assert all(log["read"]["records"] == 600 for log in logs)
    (last,) = json.loads(headway("trace", folder, "--rank", 699, "--json").stdout)["logs"]
    assert len(last["compiles"]) == 300 and last["no_room"] == 0
    text = headway("trace", one).stdout
    assert "held in memory" not in text
