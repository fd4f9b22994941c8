"""torch.compile: spans, recompiles, warm and cold, and that tracing does not notice us."""

from __future__ import annotations

from launching import Launcher

TRAIN = """
    import torch, torch.nn as nn
    from torch.utils.data import DataLoader
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    @torch.compile(fullgraph=True, dynamic=False)
    def loss_of(x):
        return nn.MSELoss()(nn.ReLU()(model(x)), x[:, :1])  # constructs modules while traced

    torch._dynamo.reset()  # clears registered callbacks
    for x in DataLoader(torch.randn(11, 3), batch_size=4):
        loss = loss_of(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
    print(dict(torch._dynamo.utils.counters["stats"]))
"""


def test_compilations_are_spans_of_the_training_thread(launch: Launcher) -> None:
    cold = launch.train(TRAIN)
    journal = cold.journal
    journal.check_nesting()
    first_end = journal.of("step_end")[0].t_ns
    third_begin = next(r.t_ns for r in journal.of("step") if r.a == 3)
    spans = journal.spans("compile")
    before = [s for s in spans if s[1] <= first_end]
    recompiled = [s for s in spans if s[0] >= third_begin]
    assert before and recompiled and len(before) + len(recompiled) == len(spans)
    assert all(row.lane == 0 for row in journal.of("begin", "compile"))
    assert {row.a for row in journal.of("end", "compile")} == {0}, "nothing was cached"
    assert journal.step_ends() == [(1, 4), (2, 8), (3, 12)]

    warm = launch.train(TRAIN)
    assert {row.a for row in warm.journal.of("end", "compile")} == {1}
    plain = launch.train(TRAIN, hook=False)
    assert cold.out == warm.out == plain.out

    # The graphs are still cached; their kernels must be built again, which is most of the work.
    for kernel in (launch.folder / "inductor").rglob("*.so"):
        kernel.unlink()
    rebuilt = launch.train(TRAIN)
    assert {row.a for row in rebuilt.journal.of("end", "compile")} == {0}
    assert rebuilt.out == cold.out


def test_a_compiled_optimizer(launch: Launcher) -> None:
    text = """
    import torch, torch.nn as nn
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    step = torch.compile(optimizer.step)
    for i, x in enumerate(torch.utils.data.DataLoader(torch.randn(24, 3), batch_size=4)):
        loss = model(x).square().mean()
        loss.backward()
        if i % 2:
            step()
            optimizer.zero_grad()
        print(loss.item())
    counters = torch._dynamo.utils.counters
    print(dict(counters["stats"]), dict(counters["graph_break"]), dict(counters["recompiles"]))
    """
    hooked = launch.train(text)
    journal = hooked.journal
    journal.check_nesting()
    assert journal.step_ends() == [(1, 8), (2, 16), (3, 24)]
    assert hooked.out == launch.train(text, hook=False).out


def test_a_backward_compiled_on_another_thread_counts_for_lane_0(launch: Launcher) -> None:
    """On an accelerator backward runs on a device thread; here a thread of our own stands in."""
    text = """
    import threading, time
    import torch, torch.nn as nn
    import torch._dynamo
    from torch._dynamo.callback import CallbackTrigger, callback_handler
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    def backward(loss):
        with callback_handler.install_callbacks(CallbackTrigger.LAZY_BACKWARD, "0/0"):
            time.sleep(0.02)
        loss.backward()
    for x in torch.utils.data.DataLoader(torch.randn(4, 3), batch_size=2):
        thread = threading.Thread(target=backward, args=(model(x).sum(),))
        thread.start()
        thread.join()
        optimizer.step()
    """
    journal = launch.train(text).journal
    journal.check_nesting()
    assert [r.lane for r in journal.of("begin", "compile")] == [0, 0]
    steps = [
        (b.t_ns, e.t_ns) for b, e in zip(journal.of("step"), journal.of("step_end"), strict=True)
    ]
    for (begin, end), (step_begin, step_end) in zip(journal.spans("compile"), steps, strict=True):
        assert step_begin <= begin and end <= step_end and end - begin >= 20_000_000
