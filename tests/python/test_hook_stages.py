"""Start-up of unmodified scripts, stage by stage."""

from __future__ import annotations

from launching import Launcher

UNMODIFIED = """
    import time
    import torch
    import torch.nn as nn
    from torch.utils.data import DataLoader, Dataset

    class Points(Dataset):
        def __init__(self, n):
            time.sleep(0.05)
            self.x = torch.arange(n * 4, dtype=torch.float32).reshape(n, 4) / n
        def __len__(self):
            return len(self.x)
        def __getitem__(self, i):
            return self.x[i], self.x[i].sum()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
            time.sleep(0.05)
        def forward(self, x):
            return self.layers(x).squeeze(-1)

    def main():
        torch.manual_seed(0)
        torch.distributed.init_process_group(
            "gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
        loader = DataLoader(Points(32), batch_size=8, num_workers=1)
        model = Net().to("cpu")
        model = nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        time.sleep(0.05)
        for epoch in range(2):
            for x, y in loader:
                loss = ((model(x) - y) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            print(epoch, loss.item())
        torch.distributed.destroy_process_group()

    if __name__ == "__main__":
        main()
"""

ORDER = [
    "imports",
    "process_group_init",
    "preproc_creation",
    "train_module_creation",
    "init_plugins",
    "pre_train",
    "get_first_batch_data",
]


RESTORES = """
    import time
    import torch
    import headway as hw
    from headway import _recorder as rec

    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    time.sleep(0.01)
    rec.core.begin(rec.RESTORE)  # as hw.checkpointer does
    time.sleep(0.02)
    rec.core.end(rec.RESTORE)
    rec.core.restore(3, None, rec.core.name_id("disk"))
    loader = torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=8)
    time.sleep(0.01)
    with hw.phase("mine"):
        time.sleep(0.05)
    time.sleep(0.01)
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
"""


def test_spans_of_the_scripts_own_lie_between_the_stages(launch: Launcher) -> None:
    journal = launch.train(RESTORES).journal
    journal.check_nesting()
    restored, mine = journal.spans("restore")[0], journal.spans("mine")[0]
    made = [span for span in journal.spans("train_module_creation") if span[0] < restored[0]]
    assert made and all(end <= restored[0] for _, end in journal.spans("init_plugins"))
    assert all(end <= restored[0] for _, end in made), "what is made before it has ended before it"
    (pre_train,) = journal.spans("pre_train")
    assert pre_train[0] >= mine[1], "what is left begins where the last span ended"
    assert pre_train[1] - pre_train[0] < mine[1] - mine[0], "and holds nothing of it"


def test_an_unmodified_script_shows_every_stage_in_order(launch: Launcher) -> None:
    result = launch.train(UNMODIFIED)
    journal = result.journal
    journal.check_nesting()
    first = {name: journal.spans(name)[0] for name in ORDER}
    assert [n for n, _ in sorted(first.items(), key=lambda item: item[1])] == ORDER
    for name in ("preproc_creation", "train_module_creation", "pre_train"):
        longest = max(end - begin for begin, end in journal.spans(name))
        assert longest >= 50_000_000, f"{name} must hold the time spent in it"
    imports = first["imports"]
    assert journal.of("mark", "trainer_start")[0].t_ns == imports[0]
    assert journal.attrs()["import_top1"].startswith("torch ")
    assert journal.step_ends() == [(n, 8 * n) for n in range(1, 9)]
    assert all(row.lane == 0 for row in journal.rows)
    starts = [r.t_ns for r in journal.of("step")]
    assert starts[0] >= first["get_first_batch_data"][1]
    assert result.err == ""


def test_ten_thousand_modules_are_few_records(launch: Launcher) -> None:
    text = """
    import torch, torch.nn as nn
    layers = [nn.Linear(2, 2) for _ in range(2000)]
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2000)])
    model = Deep()
    """
    journal = launch.train(text).journal
    journal.check_nesting()
    assert 1 <= len(journal.of("begin", "train_module_creation")) < 50


def test_an_import_inside_a_stage_is_named(launch: Launcher) -> None:
    (launch.folder / "slow.py").write_text("import time\ntime.sleep(0.05)\n")
    text = """
    import builtins, torch
    real = builtins.__import__
    class Lazy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            import slow
            self.layer = torch.nn.Linear(2, 2)
    model = Lazy()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(torch.ones(4, 2))
    for x in loader:
        model.layer(x).sum().backward()
        optimizer.step()
    print(builtins.__import__ is real, type(builtins.__import__).__name__)
    """
    result = launch.train(text)
    name, seconds = result.journal.attrs()["import_in_train_module_creation"].split()
    assert name == "slow" and float(seconds.rstrip("s")) >= 0.05
    assert result.out == "False builtin_function_or_method\n", "given back with the first step"


def test_what_an_import_builds_belongs_to_imports(launch: Launcher) -> None:
    (launch.folder / "library.py").write_text(
        "import torch.nn as nn\nDEFAULT = nn.Linear(2, 2)\nimport time\ntime.sleep(0.05)\n"
    )
    text = """
    import torch
    import library
    model = torch.nn.Linear(1, 1)
    def later():
        import json.tool
    later()
    """
    journal = launch.train(text).journal
    (imports,) = journal.spans("imports")
    (modules,) = journal.spans("train_module_creation")
    assert modules[0] >= imports[1]
    assert "library" in "".join(journal.attrs().values()) or imports[1] - imports[0] > 50_000_000


def test_constructors_that_fail_end_their_stage(launch: Launcher) -> None:
    text = """
    import torch, torch.nn as nn
    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            raise ValueError("no")
    for cls in (Bad, torch.utils.data.DataLoader):
        try:
            cls(*([0, -1] if cls is not Bad else []))
        except (ValueError, TypeError) as error:
            print(type(error).__name__)
    nn.Linear(1, 1)
    """
    journal = launch.train(text).journal
    journal.check_nesting()


def test_a_peek_at_the_data_before_the_model_is_built(launch: Launcher) -> None:
    text = """
    import torch, torch.nn as nn
    data = torch.utils.data.TensorDataset(torch.ones(12, 3))
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    width = next(iter(loader))[0].shape[1]
    for _ in loader:  # a pass for statistics
        pass
    model = nn.Linear(width, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in loader:
        model(x).sum().backward()
        optimizer.step()
    """
    journal = launch.train(text).journal
    journal.check_nesting()
    assert journal.step_ends() == [(1, 4), (2, 8), (3, 12)]
    begin_of_first = [r.t_ns for r in journal.of("step") if r.a == 1][-1]
    assert begin_of_first >= journal.spans("train_module_creation")[-1][1]
