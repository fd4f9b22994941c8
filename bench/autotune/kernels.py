"""Two Triton kernels with twelve configurations each, for a machine without a GPU.

Compiling is real: Triton and ptxas make cubins for sm_80. Running is not: a driver that stands in
for CUDA's "launches" nothing, and the time that a launch would take is *modelled*, from its grid,
the compiled kernel's shared memory and its warps (A100: 108 SMs, 164 KB of shared memory each). The
model is deterministic and crude; it is there so that configurations have an order."""

from __future__ import annotations

import math
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver as drivers

SMS, SHARED_BYTES, WARPS = 108, 164 * 1024, 64


class Launch:
    """What Triton calls to launch a compiled kernel."""

    def __init__(self, source: Any, metadata: Any) -> None:
        names = source.fn.arg_names
        self.constants = {names[path[0]]: value for path, value in source.constants.items()}
        self.names = names
        self.metadata = metadata

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        values = dict(zip(self.names, rest[-len(self.names) :], strict=True))
        values.update(self.constants)
        StandIn.modelled_ms = modelled_ms(values, x * y * z, self.metadata)


def modelled_ms(values: dict[str, Any], blocks: int, metadata: Any) -> float:
    resident = max(
        min(SHARED_BYTES // max(metadata.shared, 1024), WARPS // metadata.num_warps, 32), 1
    )
    waves = math.ceil(blocks / (SMS * resident))
    warps, threads = metadata.num_warps, metadata.num_warps * 32
    if "BLOCK_K" in values:
        m, n, k = values["BLOCK_M"], values["BLOCK_N"], values["K"]
        spilled = 3.0 if m * n / threads > 192 else 1.0
        reuse = 1 / m + 1 / n  # words from memory for each multiplication
        hidden = 1 / min(metadata.num_stages, 4) + 0.1 * (32 / values["BLOCK_K"])
        cycles = resident * m * n * k / 1024 * (1 + 40 * reuse * hidden) * spilled
    else:
        rounds = 3 * math.ceil(values["COLUMNS"] / values["BLOCK"])  # a memory latency each
        words = max(values["BLOCK"] / threads, 1) * resident * warps
        cycles = rounds * (words * 6 / 16 + 220) + 40 * warps
    return waves * cycles / 1.41e6


class Utils:
    def load_binary(self, *_: Any) -> tuple[int, int, int, int, int]:
        return 0, 0, 64, 0, 1024

    def get_device_properties(self, _device: int) -> dict[str, int]:
        return {"max_shared_mem": SHARED_BYTES, "multiprocessor_count": SMS, "warpSize": 32}


class StandIn:
    """In place of CUDA's driver: compiles for sm_80, launches nothing."""

    utils = Utils()
    launcher_cls = Launch
    modelled_ms = 0.0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 80, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        def benchmark(call: Any, quantiles: Any) -> list[float]:
            call()
            return [StandIn.modelled_ms for _ in quantiles]

        return benchmark


class Pointer:
    """A tensor that nothing is read from."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def data_ptr(self) -> int:
        return 4096


MATMUL_CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages)
    for m, n in ((64, 64), (128, 64), (128, 128))
    for k in (32, 64)
    for warps, stages in ((4, 3), (8, 4))
]
SOFTMAX_CONFIGS = [
    triton.Config({"BLOCK": block}, num_warps=warps)
    for block in (256, 512, 1024, 2048)
    for warps in (2, 4, 8)
]


@triton.autotune(configs=MATMUL_CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        at = inner + k
        left = tl.load(
            a + rows[:, None] * K + at[None, :],
            mask=(rows[:, None] < M) & (at[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + at[:, None] * N + columns[None, :],
            mask=(at[:, None] < K) & (columns[None, :] < N),
            other=0.0,
        )
        total += tl.dot(left, right)
    place = c + rows[:, None] * N + columns[None, :]
    tl.store(place, total.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.autotune(configs=SOFTMAX_CONFIGS, key=["ROWS", "COLUMNS"])
@triton.jit
def softmax(x, out, ROWS, COLUMNS, BLOCK: tl.constexpr):
    row = tl.program_id(0) * COLUMNS
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    for begin in range(0, COLUMNS, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < COLUMNS, other=float("-inf")).to(tl.float32)
        largest = tl.maximum(largest, value)
    top = tl.max(largest, 0)
    total = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, COLUMNS, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < COLUMNS, other=float("-inf")).to(tl.float32)
        total += tl.exp(value - top)
    whole = tl.sum(total, 0)
    for begin in range(0, COLUMNS, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        value = tl.load(x + row + at, mask=at < COLUMNS, other=float("-inf")).to(tl.float32)
        tl.store(out + row + at, (tl.exp(value - top) / whole).to(tl.float16), mask=at < COLUMNS)


def use_stand_in() -> None:
    drivers.set_active(StandIn())  # type: ignore[arg-type]


def run(kernel: str, shape: list[int]) -> Any:
    """Tunes if it has to, and "launches". The Autotuner."""
    if kernel == "matmul":
        m, n, k = shape
        pointers = [Pointer(tl.float16) for _ in range(3)]

        def grid(meta: dict[str, int]) -> tuple[int, int]:
            return triton.cdiv(m, meta["BLOCK_M"]), triton.cdiv(n, meta["BLOCK_N"])

        matmul[grid](*pointers, m, n, k)
        return matmul
    rows, columns = shape
    softmax[(rows,)](Pointer(tl.float16), Pointer(tl.float16), rows, columns)
    return softmax
