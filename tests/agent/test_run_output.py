"""Output: whole lines with a rank's prefix, nothing lost, nothing mixed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

LINE_BYTES_MAX = 64 * 1024


def test_a_single_rank_is_untouched(agent):
    text = "import sys; sys.stdout.buffer.write(b'a\\xff\\0no end'); sys.stderr.write('err')"
    done = agent.python(text, "--quiet")
    assert done.stdout == b"a\xff\0no end"
    assert done.stderr.endswith(b"err")


def test_stdout_and_stderr_stay_apart(agent):
    text = "import os, sys; print('out'); print('err', file=sys.stderr)"
    done = agent.python(text, "--nproc", "2")
    assert sorted(done.stdout.splitlines()) == [b"[0] out", b"[1] out"]
    assert [line for line in sorted(done.stderr.splitlines()) if line.startswith(b"[")] == [
        b"[0] err",
        b"[1] err",
    ]


def test_lines_of_many_ranks_never_mix(agent):
    ranks, lines = 4, 2000
    text = f"""
import os, sys
rank = os.environ["RANK"]
for n in range({lines}):
    line = f"{{rank}}:{{n}}:" + rank * (n % 300) + "\\n"
    stream = sys.stdout.buffer if n % 2 else sys.stderr.buffer
    middle = n % 7
    stream.write(line[:middle].encode()); stream.flush()
    stream.write(line[middle:].encode()); stream.flush()
"""
    # Both streams into one pipe: the worst case for lines to mix.
    done = agent.run(
        *("-q", "--python", sys.executable, "--nproc", str(ranks), agent.script(text)),
        stderr=subprocess.STDOUT,
    )
    seen: dict[int, list[int]] = {rank: [] for rank in range(ranks)}
    for line in done.stdout.splitlines():
        if line.startswith(b"headway:"):
            continue
        match = re.fullmatch(rb"\[(\d)\] (\d):(\d+):(\d*)", line)
        assert match, line
        assert match[1] == match[2]
        rank, number = int(match[2]), int(match[3])
        assert match[4] == match[2] * (number % 300)
        seen[rank].append(number)
    for numbers in seen.values():
        assert sorted(numbers) == list(range(lines))
        for parity in (0, 1):  # each stream keeps its order
            stream = [number for number in numbers if number % 2 == parity]
            assert stream == sorted(stream)


def test_a_very_long_line_comes_in_pieces(agent):
    size = 3 * LINE_BYTES_MAX + 17
    text = f"import os; print(os.environ['RANK'] * {size})"
    done = agent.python(text, "--nproc", "2")
    for rank in (b"0", b"1"):
        pieces = [line[4:] for line in done.stdout.splitlines() if line.startswith(b"[%b] " % rank)]
        assert b"".join(pieces) == rank * size
        assert [len(piece) for piece in pieces] == [LINE_BYTES_MAX] * 3 + [17]


def test_the_last_line_needs_no_end_and_binary_passes(agent):
    text = "import sys; sys.stdout.buffer.write(b'\\xfe\\0x\\nlast'); sys.stdout.flush()"
    done = agent.python(text, "--nproc", "2")
    for rank in (b"[0] ", b"[1] "):
        lines = [line for line in done.stdout.splitlines() if line.startswith(rank)]
        assert lines == [rank + b"\xfe\0x", rank + b"last"]


def test_a_rank_may_close_its_stdout(agent):
    text = "import os, sys; os.close(1); print('still here', file=sys.stderr); os._exit(0)"
    done = agent.python(text, "--nproc", "2")
    assert done.returncode == 0
    assert b"[0] still here" in done.stderr and b"[1] still here" in done.stderr


def test_a_copy_is_kept_for_each_rank(agent):
    text = (
        "import os, sys; r = os.environ['RANK']; print('out', r); print('err', r, file=sys.stderr)"
    )
    agent.python(text, "--nproc", "2", "--job", "j")
    for rank in "01":
        log = (agent.jobs / "j" / "1" / f"rank-{rank}.log").read_text()
        assert sorted(log.splitlines()) == [f"err {rank}", f"out {rank}"]


def test_a_reader_that_leaves_does_not_hurt_the_ranks(agent):
    text = """
import os
for n in range(20000): print("line", n)
open(f"done-{os.environ['RANK']}", "w").close()
"""
    process = agent.start(
        "--python", sys.executable, "--nproc", "2", "--job", "j", agent.script(text)
    )
    process.stdout.read(10)
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=30) == 0
    for rank in "01":
        assert (agent.folder / f"done-{rank}").exists()
        log = (agent.jobs / "j" / "1" / f"rank-{rank}.log").read_text()
        assert log.count("\n") == 20000


def test_a_slow_reader_holds_the_ranks_back_and_loses_nothing(agent, until):
    text = """
import os
rank = os.environ["RANK"]
for n in range(30000): print(rank, n, "x" * 100)
open(f"done-{rank}", "w").close()
"""
    process = agent.start(
        *("--python", sys.executable, "--nproc", "2", "-q", "--job", "j", agent.script(text))
    )
    logs = [agent.jobs / "j" / "1" / f"rank-{rank}.log" for rank in "01"]

    def copied() -> int:
        return sum(log.stat().st_size for log in logs if log.exists())

    until(lambda: copied() > 1 << 20, "the agent's queue is full")
    assert copied() < 2 << 20, "and bounded"
    assert not (agent.folder / "done-0").exists()
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    for rank in (b"0", b"1"):
        lines = [line for line in out.splitlines() if line.startswith(b"[%b]" % rank)]
        assert len(lines) == 30000


def test_a_stop_is_served_while_nobody_reads(agent, until):
    text = """
import os
open(f"ready-{os.environ['RANK']}", "w").close()
while True: print("x" * 1000)
"""
    process = agent.start("--python", sys.executable, "--nproc", "2", "-q", agent.script(text))
    until(lambda: all((agent.folder / f"ready-{r}").exists() for r in "01"), "the ranks run")
    process.send_signal(signal.SIGTERM)
    until(lambda: len(agent.living()) <= 2, "the ranks are gone though their output is not read")
    process.send_signal(signal.SIGTERM)  # gives up what nobody reads
    until(lambda: process.poll() is not None, "the agent is gone")
    process.communicate()


def test_prefixes_have_colour_only_on_a_terminal(agent):
    leader, follower = os.openpty()
    process = agent.start(
        *("-q", "--nproc", "2", "--", "echo", "hi"), stdout=follower, stderr=follower
    )
    os.close(follower)
    got = bytearray()
    try:
        while chunk := os.read(leader, 4096):
            got.extend(chunk)
    except OSError:
        pass
    process.wait(timeout=30)
    os.close(leader)
    assert b"\x1b[36m[0]\x1b[0m hi" in got
    assert b"\x1b" not in agent.run("--nproc", "2", "--", "echo", "hi").stdout
