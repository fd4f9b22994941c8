"""headway run --auto-dynamic on several nodes: one learns, all ranks get the same."""

from __future__ import annotations

import os

from hosts import BINARY

PACKAGE = os.environ.get("HEADWAY_PYTHON", str(BINARY.parent / "python"))

# Only the second node's rank meets other sizes.
TRAIN = """
import os
import torch
from torch._dynamo.utils import counters

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rank = int(os.environ["RANK"])

@torch.compile(backend="aot_eager")
def compiled(x):
    return model(x)

for step in range(12):
    compiled(torch.ones(8 + rank * (step % 3), 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
known = torch.compiler.config.dynamic_sources
print(f"rank {rank} graphs {counters['stats']['unique_graphs']} known {known!r}", flush=True)
"""


def test_what_one_nodes_rank_met_is_dynamic_for_all(network):
    net = network(2)
    script = net.script(TRAIN)

    def run() -> str:
        for host in net.hosts:
            host.start(
                *("--nnodes", "2", "--cold", "--auto-dynamic", script),
                HEADWAY_DIR=str(net.folder / "shared"),
                OMP_NUM_THREADS="1",
                PYTHONPATH=PACKAGE,
            )
        assert [host.wait() for host in net.hosts] == [0, 0], net.logs()
        logs = net.logs()
        for host in net.hosts:
            (host.folder / f"log-{len(host.agents) - 1}").write_text("")
        return logs

    first = run()
    assert "rank 0 graphs 1 known ''" in first, first
    assert "rank 1 graphs 2 known ''" in first, first
    assert first.count("learnt L['x']:0, dynamic from the next start on") == 1, first
    second = run()
    for rank in (0, 1):
        assert f"rank {rank} graphs 1 known \"L['x']:0\"" in second, second
    assert second.count("1 source dynamic from the start: L['x']:0") == 1, second
