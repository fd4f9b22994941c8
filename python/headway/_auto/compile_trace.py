"""`headway run --auto-dynamic`: torch's settings in a rank, and a bound on the trace.

Torch reads its variables as it is imported. A rank that was forked from a Python with torch in it
gets them later, so here they are handed on. A trace is as long as what is compiled: from SOFT_BYTES
on only what is learnt from is written, from HARD_BYTES on nothing."""

from __future__ import annotations

import logging
import os
from types import ModuleType
from typing import Any

VARIABLE = "HEADWAY_AUTO_DYNAMIC"  # the names of what headway run has set
TRACE = "TORCH_TRACE"
SOURCES = "TORCH_COMPILE_DYNAMIC_SOURCES"
SOFT_BYTES = 32 << 20
HARD_BYTES = 64 << 20
HEAD_BYTES = 256  # about: what stands before a payload
NEEDED = ("str", "dynamo_start", "compilation_metrics", "dynamo_cpp_guards_str")
NEEDED_ARTIFACTS = ("recompile_reasons", "put_local_code_state", "get_local_code_state")


def _ours(name: str) -> bool:
    return name in os.environ.get(VARIABLE, "").split(",")


class Limit(logging.Filter):
    """Of the handler that writes the trace."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def filter(self, record: Any) -> bool:
        metadata = getattr(record, "metadata", None) or {}
        payload = getattr(record, "payload", None)
        length = HEAD_BYTES + (len(payload) if isinstance(payload, str) else 0)
        for name in ("compilation_metrics", "dynamo_start"):
            if name in metadata:
                length += len(str(metadata[name]))
        if self.bytes + length > SOFT_BYTES and not _is_needed(metadata, payload):
            return False
        if self.bytes + length > HARD_BYTES:
            return False
        self.bytes += length
        return True


def _is_needed(metadata: Any, payload: Any) -> bool:
    if any(name in metadata for name in NEEDED):
        return True
    if "chromium_event" in metadata:
        return isinstance(payload, str) and '"automatic_dynamic"' in payload[:64]
    artifact = metadata.get("artifact")
    return isinstance(artifact, dict) and artifact.get("name") in NEEDED_ARTIFACTS


def take_trace(module: ModuleType) -> None:
    """torch._logging._internal"""
    handler = getattr(module, "LOG_TRACE_HANDLER", None)
    if not _ours(TRACE) or handler is None:
        return
    handler.root_dir = os.environ[TRACE]
    handler.addFilter(Limit())
    if handler not in module.trace_log.handlers:
        module.trace_log.addHandler(handler)


def take_sources(module: ModuleType) -> None:
    """torch.compiler.config"""
    if _ours(SOURCES) and module.dynamic_sources != os.environ[SOURCES]:
        module.dynamic_sources = os.environ[SOURCES]  # type: ignore[attr-defined]
