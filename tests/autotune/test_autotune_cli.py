"""The verb over files that a test writes: good, spoiled, and the pins that come of them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway import _pins

Run = Callable[..., subprocess.CompletedProcess[str]]


def line(**changes: Any) -> str:
    told: dict[str, Any] = {
        "v": 1,
        "t_ns": 1,
        "kind": "triton",
        "kernel": "matmul",
        "key": [1024, "fp16"],
        "key_names": ["M"],
        "hardware": "cuda:80",
        "software": "triton 3.9.0",
        "source": "",
        "pruned": False,
        "tuning_s": 3.0,
        "configs": [["BM=64", 1.0], ["BM=128", 2.0], ["BM=256", 4.0]],
    }
    return json.dumps({**told, **changes}) + "\n"


def write(folder: Path, *lines: str) -> Path:
    file = folder / "job" / "1" / "autotune-0.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines))
    return folder


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("pins_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_a_person_reads(headway: Run, tmp_path: Path) -> None:
    lines = [line(t_ns=t, tuning_s=float(t)) for t in (1, 2, 3)]
    other = line(kernel="softmax", tuning_s=30.0, key=[7])
    folder = write(tmp_path, *lines, other)
    page = headway("autotune", folder).stdout
    rows = [text.split() for text in page.splitlines() if text.startswith("  triton")]
    assert [row[1] for row in rows] == ["softmax", "matmul"]  # by what they cost
    assert rows[1] == ["triton", "matmul", "3", "6.000", "s", "3", "1", "4.000", "s"]
    assert "pins would save 24.00 s" in page and "2 classes of shapes in 2 kernels" in page
    assert "2^10/16 'fp16'" in headway("autotune", folder, "--all").stdout


def test_all_jobs_when_no_path_is_given(headway: Run, tmp_path: Path) -> None:
    write(tmp_path / "jobs", line())
    assert "matmul" in headway("autotune").stdout


def test_a_job_by_its_name(headway: Run, tmp_path: Path) -> None:
    write(tmp_path / "jobs", line())
    assert "matmul" in headway("autotune", "job").stdout


def test_pins_are_the_same_bytes_and_work_alone(headway: Run, tmp_path: Path) -> None:
    lines = [line(t_ns=1), line(t_ns=2, kernel="a", configs=[["x", 1], ["y", 9]])]
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    headway("autotune", write(tmp_path / "x", *lines), "--pins", one)
    headway("autotune", write(tmp_path / "y", *reversed(lines)), "--pins", two)
    assert one.read_bytes() == two.read_bytes()
    module = load(one)
    assert module.FORMAT == 1 and "headway" not in module._note.__globals__
    assert [entry["kernel"] for entry in module.KERNELS] == ["a", "matmul"]
    place = ("triton", "matmul", "", "triton 3.9.0", ("cuda:80",), "2^10/16 'fp16'")
    assert module._dropped(*place) == {"BM=128", "BM=256"}
    # An unknown kernel, another version, other hardware, an unseen class: full tuning.
    for at, other in ((1, "softmax"), (3, "triton 4.0"), (4, ("cuda:90",)), (5, "2^11 'fp16'")):
        assert module._dropped(*place[:at], other, *place[at + 1 :]) == set()


def test_another_source_is_another_kernel(headway: Run, tmp_path: Path) -> None:
    folder = write(tmp_path, line(source="abc"))
    headway("autotune", folder, "--pins", tmp_path / "pins.py")
    module = load(tmp_path / "pins.py")
    place = ("triton 3.9.0", ("cuda:80",), "2^10/16 'fp16'")
    assert module._dropped("triton", "matmul", "abc", *place)
    assert not module._dropped("triton", "matmul", "changed", *place)
    assert module._dropped("triton", "matmul", None, *place)  # prune("matmul") cannot see it


def test_epsilon(headway: Run, tmp_path: Path) -> None:
    lines = [line(t_ns=t, configs=[["a", 1.0], ["b", 1.08]]) for t in range(3)]
    folder = write(tmp_path, *lines)

    def kept(*arguments: str) -> Any:
        found = json.loads(headway("autotune", folder, "--json", *arguments).stdout)
        return found["kernels"][0]["classes"][0]["keep"]

    assert kept() == ["a"]
    assert kept("--epsilon", "10%") == kept("--epsilon", "0.1") == ["a", "b"]
    for bad in ("5", "-1%", "x", "nan"):
        error = headway("autotune", folder, f"--epsilon={bad}", code=2).stderr
        assert error.count("\n") == 1 and "as 5% or 0.05" in error
    error = headway("autotune", folder, "--epsilon=", code=2).stderr
    assert error.count("\n") == 1 and "--epsilon" in error


def test_bad_files(headway: Run, tmp_path: Path) -> None:
    error = headway("autotune", tmp_path / "nowhere", code=2).stderr
    assert error.count("\n") == 1 and "nowhere: no such folder or file, nor a job" in error
    assert "name a job, its folder" in error
    (tmp_path / "x.autotune.json").write_text('{"key": [1], "configs_timings": [[{"kwar')
    error = headway("autotune", tmp_path, code=2).stderr
    assert error.count("\n") == 1 and "x.autotune.json: not JSON; it may have been cut off" in error
    folder = write(tmp_path, line(), line()[:40] + "\n", '{"v": 2}\n', "\x1b[31mred\n")
    page = " ".join(headway("autotune", folder).stdout.split())  # lines are folded
    assert "4 files or lines passed over:" in page and "\x1b" not in page
    assert "autotune-0.jsonl:3: is of version 2; this program reads version 1" in page
    error = headway("autotune", folder, "--pins", "/proc/no/pins.py", code=2).stderr
    assert error.count("\n") == 1 and "/proc/no/pins.py" in error


def test_times_that_are_none(headway: Run, tmp_path: Path) -> None:
    configs = [["a", 1.0], ["nan", float("nan")], ["inf", float("inf")], ["minus", -1.0], ["a", 5]]
    folder = write(tmp_path, line(configs=configs))
    found = json.loads(headway("autotune", folder, "--json").stdout)
    assert found["kernels"][0]["configs"] == ["a", "inf", "nan"]
    assert found["kernels"][0]["classes"][0]["keep"] == ["a"]
    assert found["read"]["left_out"] == 2


values = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 5000),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(values, min_size=1, max_size=8), min_size=1, max_size=40))
def test_classes_are_the_same_in_python(
    headway: Run, tmp_path_factory: Any, keys: list[list[Any]]
) -> None:
    """The pins ask for a class by Python, the verb wrote it by C++."""
    folder = tmp_path_factory.mktemp("keys")
    write(folder, *[line(kernel=f"k{i}", key=key) for i, key in enumerate(keys)])
    found = json.loads(headway("autotune", folder, "--json").stdout)
    shapes = {kernel["kernel"]: kernel["classes"][0]["shape"] for kernel in found["kernels"]}
    assert shapes == {f"k{i}": _pins.shape_class(key) for i, key in enumerate(keys)}
