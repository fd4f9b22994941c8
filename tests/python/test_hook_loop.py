"""Steps, data and evaluation as an unmodified loop shows them."""

from __future__ import annotations

import pytest
from launching import Journal, Launcher

PRELUDE = """
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(24, 3))
loader = DataLoader(data, batch_size=4)
model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def forward(x, m=model):
    return m(x).square().mean()
"""

SCENARIOS = {
    "accumulation": (
        """
for i, (x,) in enumerate(loader):
    forward(x).backward()
    if i % 3 == 2:
        optimizer.step(); optimizer.zero_grad()
""",
        [(1, 12), (2, 24)],
    ),
    "two optimizers": (
        """
other = torch.optim.Adam(model[1].parameters())
for (x,) in loader:
    forward(x).backward()
    optimizer.step(); other.step()
""",
        [(n, 4 * n) for n in range(1, 7) for _ in range(2)],
    ),
    "the same optimizer twice": (
        """
for (x,) in loader:
    for _ in range(2):
        forward(x).backward()
        optimizer.step()
""",
        [(1, 4), *((n, None) for n in range(2, 13))],
    ),
    "no loader": (
        """
for _ in range(3):
    forward(torch.randn(2, 3)).backward()
    optimizer.step()
""",
        [(1, None), (2, None), (3, None)],
    ),
    "closures": (
        """
lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=3)
for (x,) in loader:
    def closure():
        lbfgs.zero_grad(); loss = forward(x); loss.backward(); return loss
    lbfgs.step(closure)
""",
        [(n, 4 * n) for n in range(1, 7)],
    ),
    "a skipped step": (
        """
scaler = torch.amp.GradScaler("cpu")
for i, (x,) in enumerate(loader):
    loss = forward(x) * (float("inf") if i == 1 else 1.0)
    scaler.scale(loss).backward()
    scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
""",
        [(1, 4), (2, 12), (3, 16), (4, 20), (5, 24)],
    ),
    "no fixed batch": (
        """
for (x,) in DataLoader(data, batch_sampler=[[0, 1], [2, 3, 4]]):
    forward(x).backward()
    optimizer.step()
""",
        [(1, None), (2, None)],
    ),
    "a loader for each epoch": (
        """
for _ in range(2):
    for (x,) in DataLoader(data, batch_size=12):
        forward(x).backward()
        optimizer.step()
""",
        [(n, 12 * n) for n in range(1, 5)],
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_steps(launch: Launcher, name: str) -> None:
    text, expected = SCENARIOS[name]
    journal = launch.train(PRELUDE + text).journal
    journal.check_nesting()
    assert journal.step_ends() == expected
    assert journal.spans("eval") == []


def test_an_optimizer_for_each_parameter_is_one_step(launch: Launcher) -> None:
    text = """
many = nn.Sequential(*[nn.Linear(3, 3) for _ in range(20)])
optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in many.parameters()}
def step_now(p):
    optimizers[p].step()
    optimizers[p].zero_grad()
for p in many.parameters():
    p.register_post_accumulate_grad_hook(step_now)
for (x,) in loader:
    forward(x, many).backward()
"""
    journal = launch.train(PRELUDE + text).journal
    journal.check_nesting()
    assert sorted(set(journal.step_ends())) == [(n, 4 * n) for n in range(1, 7)]
    assert len(journal.step_ends()) <= 6 * 6, "hundreds of optimizers are not hundreds of records"


def test_evaluation_is_told_from_training(launch: Launcher) -> None:
    text = """
held_out = DataLoader(TensorDataset(torch.randn(16, 3)), batch_size=2)
for epoch in range(3):
    for (x,) in loader:
        forward(x).backward()
        optimizer.step()
    if epoch == 0:
        with torch.no_grad():
            for (x,) in held_out:
                forward(x)
    else:
        for (x,) in held_out:  # gradients are off only inside
            with torch.inference_mode():
                forward(x)
"""
    journal = launch.train(PRELUDE + text).journal
    journal.check_nesting()
    assert journal.step_ends() == [(n, 4 * n) for n in range(1, 19)]
    evals = journal.spans("eval")
    assert len(evals) == 3
    ends = [r.t_ns for r in journal.of("step_end")]
    for (begin, end), last, following in zip(evals, (5, 11, 17), (6, 12, None), strict=True):
        assert ends[last] <= begin < end
        assert following is None or end <= ends[following]


def test_an_evaluation_cut_short_ends_with_the_next_training_batch(launch: Launcher) -> None:
    text = """
for epoch in range(2):
    for (x,) in loader:
        forward(x).backward()
        optimizer.step()
    with torch.no_grad():
        for (x,) in loader:
            break
"""
    journal = launch.train(PRELUDE + text).journal
    journal.check_nesting()
    assert len(journal.spans("eval")) == 2
    assert journal.step_ends()[-1] == (12, 48)


def test_data_counts_all_ranks(launch: Launcher) -> None:
    text = "for (x,) in loader:\n    forward(x).backward()\n    optimizer.step()\n"
    journal = launch.train(PRELUDE + text, env={"WORLD_SIZE": "3", "RANK": "0"}).journal
    assert journal.step_ends()[-1] == (6, 72)


def test_explicit_steps_win(launch: Launcher) -> None:
    text = """
import headway as hw
state = {}
for (x,) in hw.steps(loader, state):
    forward(x).backward()
    optimizer.step()
    with torch.no_grad():
        for (x,) in loader:
            pass
"""
    journal = launch.train(PRELUDE + text).journal
    journal.check_nesting()
    assert journal.step_ends() == [(n, 4 * n) for n in range(1, 7)]
    assert len(journal.of("step")) == 6
    assert len(journal.spans("data_wait")) == 6
    assert len(journal.spans("eval")) == 6
    assert len(journal.spans("get_first_batch_data")) == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_are_not_ranks(launch: Launcher, method: str) -> None:
    text = f"""
import torch, torch.nn as nn
class Built(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i):
        nn.Linear(2, 2)
        return torch.ones(2)
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(
        Built(), batch_size=2, num_workers=2, multiprocessing_context="{method}")
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        model(x).sum().backward()
        optimizer.step()
"""
    journal = launch.train(text).journal  # exactly one journal
    journal.check_nesting()
    assert {row.lane for row in journal.rows} == {0}
    assert journal.step_ends() == [(n, 2 * n) for n in range(1, 5)]


def seconds(journal: Journal, name: str) -> float:
    return sum(end - begin for begin, end in journal.spans(name)) / 1e9


BY_MODE = """
    import time, torch, torch.nn as nn
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    def evaluate():
        model.eval()
        time.sleep(0.05)
        with torch.no_grad():
            model(torch.ones(2, 3))
        model.train()
    real = nn.Module.train
    evaluate()                      # before training: not the loop's
    for step in range(6):
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()
        if step % 2:
            evaluate()
        time.sleep(0.02)            # the next step's own
    assert nn.Module.train is real
    model.eval()
    time.sleep(0.05)
"""


def test_evaluation_without_a_loader_is_seen_by_the_mode(launch: Launcher) -> None:
    journal = launch.train(BY_MODE).journal
    journal.check_nesting()
    assert [n for n, _ in journal.step_ends()] == [1, 2, 3, 4, 5, 6]
    spans = journal.spans("eval")
    assert len(spans) == 4
    assert all((end - begin) / 1e9 >= 0.05 for begin, end in spans)


def test_what_follows_the_last_batch_of_an_evaluation_belongs_to_it(launch: Launcher) -> None:
    text = (
        PRELUDE
        + """
import time
for epoch in range(2):
    for (x,) in loader:
        forward(x).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for (x,) in DataLoader(data, batch_size=4):
            forward(x)
    time.sleep(0.1)
    model.train()
"""
    )
    journal = launch.train(text).journal
    journal.check_nesting()
    assert len(journal.spans("eval")) == 2 and seconds(journal, "eval") >= 0.2
    assert journal.step_ends()[-1] == (12, 48)


def test_a_backbone_in_eval_mode_is_no_evaluation(launch: Launcher) -> None:
    text = (
        PRELUDE
        + """
for epoch in range(5):
    for (x,) in loader:
        model.train()
        model[0].eval()
        forward(x).backward()
        optimizer.step()
"""
    )
    journal = launch.train(text).journal
    journal.check_nesting()
    assert len(journal.of("step_end")) == 30
    assert len(journal.spans("eval")) <= 1, "believed once at most"


def test_a_compiled_function_that_calls_eval_is_compiled_as_ever(launch: Launcher) -> None:
    text = (
        PRELUDE
        + """
def predict(x):
    model.eval()
    return model(x)
compiled = torch.compile(predict, backend="eager", fullgraph=True)
print(compiled(torch.ones(2, 3)).shape, model.training)
"""
    )
    plain = launch.run(launch.script(text), hook=False)
    hooked = launch.run(launch.script(text))
    assert (hooked.code, hooked.out) == (plain.code, plain.out), hooked.err
