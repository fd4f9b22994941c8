"""A log as training jobs write it, made from a seed: step lines of four dialects, NCCL's chatter,
progress bars, warnings, checkpoints, the configuration, samples by name, errors that were handled,
and one that was not at the end. The shares are set by eye after public logs, not measured on any
fleet."""

import random
from collections.abc import Callable

Line = Callable[["Log"], str]

TRACEBACK = """Traceback (most recent call last):
  File "/opt/train/loader.py", line 212, in __next__
    sample = self.decode(self.reader.read(index))
  File "/opt/train/reader.py", line 88, in read
    return self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
  File "/usr/lib/python3.11/site-packages/botocore/client.py", line 553, in _api_call
    return self._make_api_call(operation_name, kwargs)
botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL"""

LAST = """Traceback (most recent call last):
  File "/opt/train/main.py", line 401, in <module>
    main()
  File "/opt/train/main.py", line 377, in main
    loss = model(batch)
  File "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1739, in _call_impl
    return forward_call(*args, **kwargs)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has 79.15 GiB
"""


class Log:
    """What the lines of one job share: where the training is, and chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.step = 0

    def number(self, low: float, high: float) -> float:
        return self.chance.uniform(low, high)

    def clock(self) -> str:
        minutes, seconds = divmod(self.step // 7, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2026-03-{1 + hours // 24 % 28:02d} {hours % 24:02d}:{minutes:02d}:{seconds:02d}"

    def word(self) -> str:
        return "".join(self.chance.choices("abcdefghijklmnopqrstuvwxyz0123456789_", k=12))


def plain_step(log: Log) -> str:
    log.step += 1
    return (
        f"step {log.step} | loss {log.number(1, 4):.4f} | lr {log.number(1e-5, 3e-4):.2e} | "
        f"grad_norm {log.number(0.2, 2):.3f} | tokens/s {log.number(9e4, 12e4):,.0f} | mfu 41.2%"
    )


def dict_step(log: Log) -> str:
    log.step += 1
    return (
        f"{{'loss': {log.number(1, 4):.4f}, 'grad_norm': {log.number(0.2, 2):.6f}, "
        f"'learning_rate': {log.number(1e-5, 3e-4):.6e}, 'epoch': {log.step / 5000:.2f}}}"
    )


def logged_step(log: Log) -> str:
    log.step += 1
    return (
        f"{log.clock()},{log.chance.randrange(1000):03d} - trainer - INFO - "
        f"step={log.step} loss={log.number(1, 4):.4f} tok/s={log.number(9e4, 12e4):.0f}"
    )


def long_step(log: Log) -> str:
    log.step += 1
    return (
        f" [{log.clock()}] iteration {log.step:8d}/  500000 | consumed samples: "
        f"{log.step * 1024:12d} | elapsed time per iteration (ms): {log.number(1100, 1300):.1f} | "
        f"learning rate: 1.500E-04 | global batch size:  1024 | lm loss: {log.number(1, 4):.6E} | "
        f"loss scale: 1.0 | grad norm: {log.number(0.2, 2):.3f} | "
        f"number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def nccl(log: Log) -> str:
    head = f"node-{log.chance.randrange(16)}:4242:4310 [{log.chance.randrange(8)}] NCCL INFO "
    return head + log.chance.choice(
        [
            f"Channel {log.chance.randrange(24):02d}/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
            "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>",
            "Connected all rings, use ring PXN 0 GDR 1",
            "comm 0x55d0c0a8 rank 3 nranks 128 cudaDev 3 nvmlDev 3 busId 5d000 - Init COMPLETE",
            "Setting affinity for GPU 3 to ffff,ffffffff",
            "threadThresholds 8/8/64 | 1024/8/64 | 512 | 512",
        ]
    )


def bar(log: Log) -> str:
    done = log.chance.randrange(1, 100)
    return (
        f"Epoch {log.step // 5000}: {done:3d}%|{'█' * (done // 10):10}| {done * 10}/1000 "
        f"[{done // 6:02d}:{done % 60:02d}<10:00,  {log.number(1, 9):.2f}it/s, "
        f"loss={log.number(1, 4):.2f}]"
    )


def warning(log: Log) -> str:
    return log.chance.choice(
        [
            "/usr/lib/python3.11/site-packages/torch/utils/checkpoint.py:295: FutureWarning: "
            "`torch.cpu.amp.autocast(args...)` is deprecated.\n  with torch.enable_grad(), ctx:",
            "/opt/train/data.py:41: UserWarning: The given NumPy array is not writable.\n"
            "  return torch.from_numpy(array)",
            f"{log.clock()} WARNING data: shard {log.chance.randrange(999)} is short by 12 samples",
        ]
    )


def message(log: Log) -> str:
    return log.chance.choice(
        [
            f"Saving checkpoint to /checkpoints/run7/step_{log.step} (model, optimizer, 24 shards)",
            f"Saved checkpoint in {log.number(2, 30):.1f} s",
            f"eval: perplexity {log.number(5, 9):.3f} accuracy {log.number(0.5, 0.7):.4f}",
            f"[memory] allocated {log.number(40, 60):.2f} GiB, reserved 71.50 GiB, retries 0",
            f"reading shard s3://corpus/train/part-{log.chance.randrange(9999):05d}.tar (214 MB)",
            f"gc: collected {log.chance.randrange(9999)} objects in {log.number(1, 20):.1f} ms",
            "",
        ]
    )


def config(log: Log) -> str:
    return log.chance.choice(
        [
            "  hidden_size: 4096",
            "  num_key_value_heads: 8",
            '  "tokenizer": "meta-llama/Llama-3-8B",',
            "      (mlp): LlamaMLP(",
            "        (gate_proj): Linear(in_features=4096, out_features=14336, bias=False)",
            "  checkpoint_interval: 1000",
        ]
    )


def sample(log: Log) -> str:
    return log.chance.choice(
        [
            f"sample {log.word()} from s3://corpus/{log.word()}/{log.word()}.parquet, 2048 tokens",
            f"rank 3 <- {log.word()}: prompt '{log.word()} {log.word()}' answer '{log.word()}'",
        ]
    )


def handled(log: Log) -> str:
    return log.chance.choice(
        [
            "Connection reset by peer, retrying (1/5) in 0.5 s",
            f"{log.clock()} WARNING store: ReadTimeout on part-00017.tar, will retry",
            "corrupt sample 88123 in shard 17, skipping",
        ]
    )


def traceback(log: Log) -> str:
    return TRACEBACK


SHARES: list[tuple[Line, float]] = [
    (plain_step, 24),
    (dict_step, 8),
    (logged_step, 14),
    (long_step, 8),
    (nccl, 14),
    (bar, 12),
    (warning, 4),
    (message, 9),
    (config, 6),
    (sample, 8),
    (handled, 0.8),
    (traceback, 0.05),
]


def training_log(seed: int, size_bytes: int, unlike: bool = False) -> str:
    """`unlike`: no line is like another, as if all of them named samples."""
    log = Log(seed)
    makers = [maker for maker, _ in SHARES]
    weights = [share for _, share in SHARES]
    lines: list[str] = []
    size = 0
    while size < size_bytes:
        for maker in log.chance.choices(makers, weights, k=1000):
            line = maker(log) + (f" {log.word()}" if unlike else "")
            lines.append(line)
            size += len(line) + 1
    return "\n".join(lines) + "\n" + LAST
