"""Autotuning: records what every tuning timed (autotune-<rank>.jsonl in the attempt's folder,
docs/formats/autotune.md), and applies the pins that `headway run --autotune-pins` names.

Names and classes are those of `headway._pins`. Nothing here may fail a compilation: a fault costs
its record, or full tuning, and one line."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
import os
import sys
import threading
import time
from types import ModuleType
from typing import Any

from headway import _pins
from headway._recorder import core

VERSION = 1
FILE_BYTES_MAX = 64 << 20  # of one process; what comes after that is not recorded
PINS_VARIABLE = "HEADWAY_AUTOTUNE_PINS"
MARK = "headway"  # among a choice's annotations


class Feedback:
    """The file of lines. Any thread."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.bytes = 0
        self.off = False

    def write(self, line: dict[str, Any]) -> None:
        folder = os.path.dirname(core.journal_path())
        if self.off or not folder:
            return
        name = f"autotune-{os.environ.get('RANK', '0')}.jsonl"
        data = json.dumps({"v": VERSION, "t_ns": time.time_ns(), **line}).encode() + b"\n"
        with self.lock:
            self.bytes += len(data)
            if self.bytes > FILE_BYTES_MAX:
                self.off = True
                return
            try:
                # Whole lines: ranks that restarted, or share a rank's number, append to one file.
                fd = os.open(
                    os.path.join(folder, name),
                    os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC,
                    0o644,
                )
                try:
                    os.write(fd, data)
                finally:
                    os.close(fd)
            except OSError:
                self.off = True


feedback = Feedback()


def quietly(function: Any) -> Any:
    """Tuning goes on, whatever happens to our record of it."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except Exception:
            feedback.off = True

    return run


def simple(values: Any) -> list[Any] | None:
    """A key as JSON can tell it; None where it cannot."""
    values = list(values)
    return values if all(_pins.exact(value) is not None for value in values) else None


def milliseconds(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None


# Pins


@functools.lru_cache(maxsize=1)
def pins() -> ModuleType | None:
    """The module that the user named. None where there is none, or it is no good."""
    path = os.environ.get(PINS_VARIABLE)
    if not path:
        return None
    try:
        spec = importlib.util.spec_from_file_location("_headway_autotune_pins", path)
        if spec is None or spec.loader is None:
            raise ImportError("not a Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if module.FORMAT != _pins.FORMAT:
            raise ValueError(f"pins of format {module.FORMAT}; this Headway knows {_pins.FORMAT}")
        return module
    except BaseException as error:  # also a SystemExit: the file is anybody's
        say(f"{type(error).__name__}: {error}")
        return None


def say(problem: str) -> None:
    path = os.environ.get(PINS_VARIABLE)
    try:
        print(f"headway: --autotune-pins {path}: {problem}; tuning in full", file=sys.stderr)
    except Exception:
        pass


def apply(install: str) -> None:
    """`install` is the name of one of the module's functions."""
    module = pins()
    if module is None:
        return
    try:
        getattr(module, install)()
    except Exception as error:
        say(f"{install}: {type(error).__name__}: {error}")


# Inductor


class InductorTunings:
    """Inductor tunes on one thread at a time, or on some: what is under way is the thread's."""

    def __init__(self) -> None:
        self.here = threading.local()

    def install(self, module: ModuleType) -> None:
        module.add_preprocessing_fn(self.before_pins)  # type: ignore[attr-defined]
        apply("install_inductor")
        module.add_preprocessing_fn(self.after_pins)  # type: ignore[attr-defined]
        module.add_feedback_saver(quietly(self.tuned))  # type: ignore[attr-defined]
        selector = module.AlgorithmSelectorCache  # type: ignore[attr-defined]
        original = getattr(selector, "do_autotuning", None)
        if original is None:
            return

        @functools.wraps(original)
        def do_autotuning(*args: Any, **kwargs: Any) -> Any:
            self.here.began_s = time.perf_counter()
            return original(*args, **kwargs)

        selector.do_autotuning = do_autotuning

    def before_pins(self, choices: list[Any]) -> list[Any]:
        """All choices are here; the pins may take some away."""
        try:
            if len(choices) > 1:
                mark = {"problem": _pins.choices_problem(choices), "choices": len(choices)}
                for choice in choices:
                    choice.annotations[MARK] = mark
        except Exception:
            pass  # a choice that we do not know: it is not recorded
        return choices

    def after_pins(self, choices: list[Any]) -> list[Any]:
        for choice in choices:
            mark = getattr(choice, "annotations", {}).get(MARK)
            if mark is not None:
                mark["pruned"] = len(choices) < mark["choices"]
        return choices

    def tuned(self, timings: dict[Any, float], _name: str, *_rest: Any) -> None:
        marks = [choice.annotations[MARK] for choice in timings if MARK in choice.annotations]
        if not marks:
            return
        kernel, values, device = marks[0]["problem"]
        best: dict[str, float | None] = {}
        for choice, time_ms in timings.items():
            text, found = _pins.choice_text(choice), milliseconds(time_ms)
            known = best.get(text)
            best[text] = found if known is None or (found is not None and found < known) else known
        began_s = getattr(self.here, "began_s", None)
        self.here.began_s = None
        feedback.write(
            {
                "kind": "inductor",
                "kernel": kernel,
                "key": simple(values),
                "hardware": _pins.device_hardware(device),
                "software": _pins.inductor_software(),
                "pruned": marks[0].get("pruned", False),
                "tuning_s": None if began_s is None else round(time.perf_counter() - began_s, 6),
                "configs": list(best.items()),
            }
        )


# Triton


class TritonTunings:
    """@triton.autotune, by the listener that Triton 3.4 and later have."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}  # of configurations before the pins, by function
        self.known: dict[int, tuple[list[str], bool]] = {}  # key names and "pruned"

    def install(self, module: ModuleType) -> None:
        autotuner = module.Autotuner  # type: ignore[attr-defined]
        # A kernel may prune by itself, too: only what the pins leave out is not known.
        self.watch(autotuner, self.before_pins)
        apply("install_triton")
        self.watch(autotuner, self.after_pins)
        settings = sys.modules["triton"].knobs.autotuning  # type: ignore[attr-defined]
        earlier = settings.listener
        record = quietly(self.tuned)

        def listener(**told: Any) -> None:
            if earlier is not None:
                earlier(**told)
            record(**told)

        settings.listener = listener

    def watch(self, autotuner: Any, note: Any) -> None:
        original = autotuner.prune_configs

        @functools.wraps(original)
        def prune_configs(this: Any, kwargs: Any) -> Any:
            configs = original(this, kwargs)
            try:
                function = this.fn
                while not hasattr(function, "src"):
                    function = function.fn
                note(this, id(function), len(configs))
            except AttributeError:
                pass
            return configs

        autotuner.prune_configs = prune_configs

    def before_pins(self, _autotuner: Any, function: int, count: int) -> None:
        self.counts[function] = count

    def after_pins(self, autotuner: Any, function: int, count: int) -> None:
        self.known[function] = list(autotuner.keys), count < self.counts.get(function, count)

    def tuned(self, *, fn: Any, key: Any, configs_timings: Any, **told: Any) -> None:
        if told.get("cache_hit"):
            return
        names, pruned = self.known.get(id(fn), ([], False))
        configs = []
        for config, times in configs_timings.items():
            text = _pins.config_text(config)
            if text is not None:
                time_ms = times[0] if isinstance(times, (list, tuple)) else times
                configs.append((text, milliseconds(time_ms)))
        feedback.write(
            {
                "kind": "triton",
                "kernel": fn.__name__,
                "key": simple(key),
                "key_names": names,
                "hardware": _pins.triton_hardware()[1],
                "software": _pins.triton_software(),
                "source": _pins.source_hash(fn),
                "pruned": pruned,
                "tuning_s": told.get("duration"),
                "configs": configs,
            }
        )


inductor_tunings = InductorTunings()
triton_tunings = TritonTunings()
