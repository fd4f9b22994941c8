"""`headway fleet --spark` starts this. The summary goes to standard output as JSON, all else to
standard error; 2: one line there says what is wrong."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from headway.fleet.place import check_folder

DIMENSIONS = ("family", "team", "cluster", "hardware", "size", "torch", "priority")
PR_SET_PDEATHSIG = 1
LINE_MAX = 500
GIVE_UP_S = 60
RAISED = re.compile(r"[\w.]*(Error|Exception): ")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m headway.fleet", allow_abbrev=False)
    parser.add_argument("--spark", required=True, metavar="MASTER")
    parser.add_argument("--journals", required=True, metavar="DIR")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--by", default="family", choices=DIMENSIONS)
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--follow-parent", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.journals = os.path.abspath(options.journals)
    if "://" not in options.out:
        options.out = os.path.abspath(options.out)
    return options


class Wrong(Exception):
    """One line for a person."""


def settings_of(options: argparse.Namespace) -> dict[str, str]:
    settings = {}
    for text in options.conf:
        name, equals, value = text.partition("=")
        if not equals or not name.startswith("spark."):
            raise Wrong(f"--conf {text}: is no setting of Spark's; as in spark.executor.cores=2")
        settings[name] = value
    return settings


def choose_worker_python(options: argparse.Namespace, settings: dict[str, str]) -> None:
    """Spark itself listens to this setting only in spark-submit."""
    if given := settings.get("spark.pyspark.python"):
        os.environ["PYSPARK_PYTHON"] = given
    elif options.spark.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


def check_machine(options: argparse.Namespace) -> None:
    for name in ("pyspark", "pyarrow", "pandas"):
        try:
            __import__(name)
        except ImportError as error:
            raise Wrong(
                f"{sys.executable}: has no {name} ({error}); `pip install pyspark pyarrow "
                "'pandas<3'`, or name another Python with --python"
            ) from error
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if shutil.which(java) is None:
        raise Wrong(f"{java}: not found; Spark needs Java 17 or later (JAVA_HOME, or on PATH)")
    if not os.path.isdir(options.journals):
        raise Wrong(f"{options.journals}: no such folder")
    check_folder(options.out, options.replace)


def load_extension() -> tuple[Any, list[str]]:
    from headway.fleet import shipment

    try:
        return shipment.load_extension()
    except ImportError as error:
        raise Wrong(f"{sys.executable}: cannot load Headway's extension: {error}") from error


def first_line(error: BaseException) -> str:
    """What Spark or Java say runs to pages. What a task of ours said is marked; else it is what
    Python on a worker said last, or the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    for line in lines:
        if "headway: " in line:
            return line.split("headway: ", 1)[1][:LINE_MAX]
    raised = [line for line in lines if RAISED.match(line)]
    return (raised[-1] if raised else (lines or [type(error).__name__])[0])[:LINE_MAX]


def stay_with_parent() -> None:
    """Whoever started us wants the answer: without them there is no use in going on."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        sys.exit(143)


def run(options: argparse.Namespace) -> dict[str, Any]:
    settings = settings_of(options)
    # Before Arrow: what is loaded with the extension is told by what was not there before.
    extension, libraries = load_extension()
    check_machine(options)
    choose_worker_python(options, settings)
    from headway.fleet.history import History, start_spark

    spark = start_spark(options.spark, settings)
    try:
        history = History(spark, options, extension, libraries)
        try:
            return beside(history.run)
        except BaseException:
            give_up_in_time()
            history.give_up()
            raise
    finally:
        spark.stop()


def beside(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Calls it in a thread of its own. A thread that waits for Java can be interrupted, but can ask
    Java nothing any more; this one stays free to stop Spark."""
    ended: list[dict[str, Any] | BaseException] = []

    def run_it() -> None:
        try:
            ended.append(work())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run_it, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


def give_up_in_time() -> None:
    """A cluster that does not answer any more must not keep us."""
    timer = threading.Timer(GIVE_UP_S, os._exit, [143])
    timer.daemon = True
    timer.start()


def main() -> int:
    options = parse(sys.argv[1:])
    answer = os.dup(1)
    os.dup2(2, 1)  # what Java prints is no part of the answer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.follow_parent:
        stay_with_parent()
    try:
        summary = run(options)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("HEADWAY_TRACEBACK"):
            traceback.print_exc()
        print(f"headway: {first_line(error)}", file=sys.stderr)
        return 2
    with os.fdopen(answer, "w") as out:
        out.write(json.dumps(summary) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
