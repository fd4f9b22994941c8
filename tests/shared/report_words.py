"""A bucket's word in a fleet, and where a job's report has it."""

from __future__ import annotations

from typing import Any

IN_REPORT = {
    "scheduling": ("l2", "scheduling_ns"),
    "hardware_setup": ("l2", "hardware_setup_ns"),
    **{
        word: ("l3", f"{word}_ns")
        for word in (
            *("imports", "device_init", "process_group_init", "preproc_creation"),
            *("train_module_creation", "init_plugins", "pre_train", "get_first_batch_data"),
            "restore",
        )
    },
    "init_other": ("l3", "other_ns"),
    "compile_cold": ("compile", "cold_ns"),
    "compile_warm": ("compile", "warm_ns"),
    "effective": ("l2", "effective_ns"),
    **{
        word: ("wasted", f"{word}_ns")
        for word in (
            *("data_wait", "recompile", "replay", "interrupted_step", "hang", "eval"),
            "checkpoint_blocked",
        )
    },
    "wasted_other": ("wasted", "other_ns"),
    "final_save": ("shutdown", "final_save_ns"),
    "publish": ("shutdown", "publish_ns"),
    "shutdown_other": ("shutdown", "other_ns"),
    "down": ("l2", "down_ns"),
}
assert len(IN_REPORT) == 27


def partition_of(report: dict[str, Any]) -> dict[str, int]:
    return {word: report[part][name] for word, (part, name) in IN_REPORT.items()} | {
        "failure": report["failure_ns"],
        "queued": report["queued_ns"],
    }
