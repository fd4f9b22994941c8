"""A plain DataLoader goes on where the last process was: every batch once, in the same order.

Each "process" here is a loader made anew and other random numbers all around; state goes through
JSON as it does in a checkpoint. That a killed trainer gets there too is test_loader_killed.py.
"""

from __future__ import annotations

import copy
import json
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import replica_machine  # noqa: F401  (finds the package)
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    WeightedRandomSampler,
)

from headway.checkpoint import CheckpointError, resumable, tagged
from headway.checkpoint.live import load_rest
from headway.checkpoint.loader import epoch_of
from headway.checkpoint.parts import RngPart, StatefulPart

ROWS = 23
EPOCHS = 3


class Rows(Dataset):
    """Counts what is really loaded (in this process)."""

    def __init__(self) -> None:
        self.loaded: list[int] = []

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> int:
        self.loaded.append(index)
        return index


class Noisy(Rows):
    """Items that draw random numbers of the training process."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return super().__getitem__(index) + torch.rand(()) + random.random() + numpy.random.rand()


class Stream(IterableDataset):
    """Shuffles by the process's random numbers; workers share it out."""

    def __iter__(self) -> Iterator[int]:
        order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(5)).tolist()
        info = torch.utils.data.get_worker_info()
        if info is None:
            random.shuffle(order)
            yield from order
        else:
            yield from order[info.id :: info.num_workers]


class EagerShuffle(Sampler):
    """Draws when iter() is called, from Python's numbers."""

    def __iter__(self) -> Iterator[int]:
        order = list(range(ROWS))
        random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return ROWS


class OwnRandom(EagerShuffle):
    """With generators of its own, which go on from pass to pass."""

    def __init__(self) -> None:
        self.python = random.Random(3)
        self.numpy = numpy.random.default_rng(4)

    def __iter__(self) -> Iterator[int]:
        order = list(range(ROWS))
        self.python.shuffle(order)
        yield from self.numpy.permutation(order).tolist()


class OwnIter(DataLoader):
    """Fetches one batch ahead, as accelerate's does."""

    def __iter__(self) -> Iterator[Any]:
        ahead = None
        for batch in super().__iter__():
            if ahead is not None:
                yield ahead
            ahead = batch
        if ahead is not None:
            yield ahead


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(11)


def distributed(**options: Any) -> DataLoader:
    rows = Rows()
    return DataLoader(rows, 2, sampler=DistributedSampler(rows, 2, 1), **options)


MAKERS: dict[str, Callable[..., DataLoader]] = {
    "in order": lambda **o: DataLoader(Rows(), 4, **o),
    "shuffled": lambda **o: DataLoader(Rows(), 4, shuffle=True, **o),
    "drop_last": lambda **o: DataLoader(Rows(), 4, shuffle=True, drop_last=True, **o),
    "generator": lambda **o: DataLoader(Rows(), 4, shuffle=True, generator=seeded(), **o),
    "default generator": lambda **o: DataLoader(
        Rows(), 4, shuffle=True, generator=torch.default_generator, **o
    ),
    "replacement": lambda **o: DataLoader(
        Rows(), 4, sampler=RandomSampler(range(ROWS), True, 70, generator=seeded()), **o
    ),
    "weighted": lambda **o: DataLoader(
        Rows(), 4, sampler=WeightedRandomSampler([1.0] * ROWS, ROWS), **o
    ),
    "batch_sampler": lambda **o: DataLoader(
        Rows(), batch_sampler=BatchSampler(RandomSampler(range(ROWS)), 5, False), **o
    ),
    "batch_size None": lambda **o: DataLoader(Rows(), None, shuffle=True, **o),
    "eager": lambda **o: DataLoader(Rows(), None, sampler=EagerShuffle(), **o),
    "own random": lambda **o: DataLoader(Rows(), 4, sampler=OwnRandom(), **o),
    "distributed": distributed,
    "iterable": lambda **o: DataLoader(Stream(), 4, **o),
    "own iter": lambda **o: OwnIter(Rows(), 4, shuffle=True, **o),
    "noisy": lambda **o: DataLoader(Noisy(), 4, shuffle=True, **o),
}


def through_json(state: Any) -> Any:
    def no_tensor(path: str, _tensor: Any) -> str:
        raise AssertionError(f"{path}: a tensor would change the layout")

    return tagged.decode(json.loads(json.dumps(tagged.encode(state, "", no_tensor))), no_tensor)


def seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed)


class Process:
    """Trains from an epoch on: a step draws random numbers too."""

    def __init__(self, loader: DataLoader, seed: int = 1, tracked: bool = True) -> None:
        seed_all(seed)
        self.loader = resumable(loader) if tracked else loader
        self.seen: list[Any] = []
        self.states: list[Any] = []  # before each step, and after each
        self.epoch = 0

    def save(self) -> Any:
        state = {"loader": through_json(self.loader.state_dict()), "epoch": self.epoch}
        return {**state, "rng": copy.deepcopy(RngPart().state())}

    def restore(self, state: Any) -> None:
        self.loader.load_state_dict(copy.deepcopy(state["loader"]))
        RngPart().load(state["rng"])
        self.epoch = state["epoch"]

    def train(self, save: bool = False) -> None:
        if save:
            self.states.append((0, self.save()))
        for epoch in range(self.epoch, EPOCHS):
            if hasattr(self.loader.sampler, "set_epoch"):
                self.loader.sampler.set_epoch(epoch)
            for batch in self.loader:
                noise = torch.rand(()).item() + random.random() + numpy.random.rand()
                values = batch.tolist() if isinstance(batch, torch.Tensor) else batch
                self.seen.append((epoch, values, noise))
                if save:
                    self.states.append((len(self.seen), self.save()))
            self.epoch = epoch + 1
            if save:
                self.states.append((len(self.seen), self.save()))


@pytest.fixture(autouse=True)
def no_advice() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        yield


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("workers", [0, 2])
def test_it_goes_on_from_anywhere(name: str, workers: int) -> None:
    if name == "noisy" and workers:
        pytest.skip("workers draw random numbers of their own: docs/saving.md")
    make = MAKERS[name]
    plain = Process(make(num_workers=workers), tracked=False)
    plain.train()
    whole = Process(make(num_workers=workers))
    whole.train(save=True)
    assert whole.seen == plain.seen, "a loader that is watched gives what it gave"
    choice = random.Random(name + str(workers))
    states = whole.states if not workers else choice.sample(whole.states, 3)
    for count, state in states:
        again = Process(make(num_workers=workers), seed=99)
        again.restore(state)
        again.train()
        assert whole.seen[:count] + again.seen == whole.seen, (name, count)


def test_nothing_is_loaded_for_nothing() -> None:
    whole = Process(DataLoader(Rows(), 4, shuffle=True))
    whole.train(save=True)
    count, state = whole.states[4]
    rows = Rows()
    again = Process(DataLoader(rows, 4, shuffle=True), seed=99)
    again.restore(state)
    again.train()
    assert rows.loaded == [row for _, batch, _ in whole.seen[count:] for row in batch]


@pytest.mark.parametrize("name", ["shuffled", "generator", "iterable"])
def test_persistent_workers(name: str) -> None:
    """Which do not begin anew with every pass, and so draw less."""
    make = lambda: MAKERS[name](num_workers=2, persistent_workers=True)  # noqa: E731
    whole = Process(make())
    whole.train(save=True)
    between = next(saved for saved in whole.states if saved[1]["epoch"] == 1)
    for count, state in [between, *random.Random(name).sample(whole.states, 2)]:
        again = Process(make(), seed=99)
        again.restore(state)
        again.train()
        assert whole.seen[:count] + again.seen == whole.seen, (name, count)


@pytest.mark.parametrize("name", ["shuffled", "generator", "distributed", "own random"])
@pytest.mark.parametrize("before,after", [(0, 2), (2, 0)])
def test_with_another_number_of_workers(name: str, before: int, after: int) -> None:
    """Whose random numbers are drawn at other times: the batches are the same in this pass."""
    whole = Process(MAKERS[name](num_workers=before))
    whole.train(save=True)
    for count, state in random.Random(name).sample(whole.states, 2):
        again = Process(MAKERS[name](num_workers=after), seed=99)
        again.restore(state)
        again.train()
        want = [batch for epoch, batch, _ in whole.seen[count:] if epoch == state["epoch"]]
        have = [batch for epoch, batch, _ in again.seen if epoch == state["epoch"]]
        assert have == want, (name, count)


def test_saved_again_before_and_after_it_went_on() -> None:
    whole = Process(MAKERS["generator"]())
    whole.train(save=True)
    count, state = whole.states[3]
    second = Process(MAKERS["generator"](), seed=50)
    second.restore(state)
    between = second.save()
    second.train(save=True)
    for base, later in [(0, between), *second.states]:
        third = Process(MAKERS["generator"](), seed=51)
        third.restore(later)
        third.train()
        assert whole.seen[: count + base] + third.seen == whole.seen


def test_a_generator_that_serves_others_too() -> None:
    def run(state: Any, seed: int) -> tuple[list[Any], list[Any]]:
        generator = seeded()
        loader = resumable(DataLoader(Rows(), 4, shuffle=True, generator=generator))
        seed_all(seed)
        if state is not None:
            loader.load_state_dict(state)
        seen, states = [], []
        for _ in range(EPOCHS - epoch_of(loader)):
            for batch in loader:
                seen.append((batch.tolist(), torch.rand((), generator=generator).item()))
                states.append((len(seen), through_json(loader.state_dict())))
        return seen, states

    whole, states = run(None, 1)
    for count, state in states:
        assert whole[:count] + run(state, 99)[0] == whole


def test_epochs_are_counted() -> None:
    loader = resumable(MAKERS["distributed"]())
    assert epoch_of(loader) == 0
    for _ in loader:
        assert epoch_of(loader) == 0
    assert epoch_of(loader) == 1
    loader.sampler.set_epoch(1)
    batches = iter(loader)
    next(batches)
    state = through_json(loader.state_dict())
    want = [batch.tolist() for batch in batches]
    again = resumable(MAKERS["distributed"]())
    again.load_state_dict(state)
    assert epoch_of(again) == 1
    again.sampler.set_epoch(0)  # a loop over range(EPOCHS) that does not know better
    with pytest.warns(RuntimeWarning, match=r"set_epoch\(0\) was called, .* is epoch 1"):
        assert [batch.tolist() for batch in again] == want


def test_a_loop_that_is_left_goes_on_there() -> None:
    loader = resumable(MAKERS["shuffled"]())
    seed_all(1)
    for number, _ in enumerate(loader):
        if number == 2:
            break
    state = through_json(loader.state_dict())
    assert state["pass"]["consumed"] == 3
    next(iter(loader))
    assert epoch_of(loader) == 1, "the next pass is another one"


def test_it_stays_the_loader_that_it_was() -> None:
    loader = DataLoader(Rows(), 4, shuffle=True, num_workers=2)
    assert resumable(loader) is loader and resumable(loader) is loader
    assert isinstance(loader, DataLoader) and type(loader).__name__ == "DataLoader"
    assert len(loader) == 6 and isinstance(loader.batch_sampler, BatchSampler)
    assert len(iter(loader)) == 6
    for other in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        assert type(other) is DataLoader and len(list(other)) == 6


# ---- what cannot be


class Forgetful(EagerShuffle):
    """The next one depends on all that was drawn meanwhile."""

    def __iter__(self) -> Iterator[int]:
        left = list(range(ROWS))
        while left:
            yield left.pop(random.randrange(len(left)))


def state_after(loader: DataLoader, count: int) -> Any:
    seed_all(1)
    batches = iter(resumable(loader))
    for _ in range(count):
        next(batches)
        random.random()
    return through_json(loader.state_dict())


@pytest.mark.parametrize("workers", [0, 2])
def test_an_order_that_cannot_be_repeated_is_noticed(workers: int) -> None:
    make = lambda: DataLoader(Rows(), 2, sampler=Forgetful(), num_workers=workers)  # noqa: E731
    again = resumable(make())
    again.load_state_dict(state_after(make(), 5))
    with pytest.raises(CheckpointError, match="does not give the same batches a second time"):
        next(iter(again))


@pytest.mark.parametrize("dataset", [Rows(), Stream()])
def test_less_data_than_before_is_noticed(dataset: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_after(DataLoader(dataset, 2), 9)
    monkeypatch.setattr(f"{__name__}.ROWS", 6)
    again = resumable(DataLoader(dataset, 2))
    again.load_state_dict(state)
    with pytest.raises(CheckpointError, match="ended after 3 batches, and 9 of this pass"):
        next(iter(again))


def test_another_loader_is_noticed() -> None:
    again = resumable(MAKERS["shuffled"]())
    with pytest.raises(CheckpointError, match=r"saved with 1 generators .* and has 0 and 0"):
        again.load_state_dict(state_after(MAKERS["generator"](), 2))


def of_rank(rank: int, ranks: int, rows: int, **options: Any) -> DataLoader:
    sampler = DistributedSampler(range(rows), ranks, rank)
    return DataLoader(range(rows), 32, sampler=sampler, **options)


def coded_in_epoch_3(loader: DataLoader, batches: int) -> Any:
    """As stored after so many batches of the fourth pass, and before anybody asks for more."""
    resumable(loader)
    for _ in range(3):
        for _ in loader:
            pass
    taken = iter(loader)
    for _ in range(batches):
        next(taken)
    return tagged.encode(through_json(loader.state_dict()), "loader", lambda *_: None)


def restored(loader: DataLoader, coded: Any, before: int, after: int) -> str:
    """What restore() does with it where the number of ranks is another, and the warning."""
    parts = {"loader": StatefulPart("loader", resumable(loader), per_rank=True)}
    keeper: Any = SimpleNamespace(parts=parts, place=SimpleNamespace(rank=0, world_size=after))
    with pytest.warns(RuntimeWarning, match="loader is not restored: it was saved by") as said:
        load_rest(keeper, {"parts": {"loader": coded}}, torch.empty, before)
    return str(said[0].message)


@pytest.mark.parametrize(("before", "after"), [(2, 3), (1, 3), (3, 2), (2, 1), (1, 2), (3, 8)])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_pass_that_gave_all_its_batches_is_over_for_any_number_of_ranks(
    before: int, after: int, workers: int
) -> None:
    """Which round differently: two ranks give 50 batches each, three 34."""
    saved = of_rank(0, before, 3200, num_workers=workers)
    coded = coded_in_epoch_3(saved, len(saved))
    again = resumable(of_rank(after - 1, after, 3200))
    assert restored(again, coded, before, after).endswith("the pass after epoch 4 begins")
    assert epoch_of(again) == 4
    assert len(list(again)) == len(again), "the next one is whole"


@pytest.mark.parametrize(("before", "after"), [(2, 3), (2, 1), (3, 8)])
@pytest.mark.parametrize("left", [1, 20])
def test_a_pass_under_way_begins_anew(before: int, after: int, left: int) -> None:
    saved = of_rank(0, before, 3200)
    coded = coded_in_epoch_3(saved, len(saved) - left)
    again = resumable(of_rank(0, after, 3200))
    assert restored(again, coded, before, after).endswith("the pass after epoch 3 begins anew")
    assert epoch_of(again) == 3
    assert len(list(again)) == len(again)


@pytest.mark.parametrize(
    ("batches", "before", "after", "epoch"),
    [(49, 2, 1, 3), (50, 2, 1, 4), (99, 1, 2, 3), (100, 1, 2, 4)],
)
def test_of_older_states_all_ranks_together_tell(
    batches: int, before: int, after: int, epoch: int
) -> None:
    """Which do not say how long the pass was: a hundred batches for all."""
    coded = coded_in_epoch_3(of_rank(0, before, 3200), batches)
    del coded["pass"]["batches"]
    again = resumable(of_rank(0, after, 3200))
    assert f"epoch {epoch} begins" in restored(again, coded, before, after)
    assert epoch_of(again) == epoch


def test_nobody_asks_an_iterable_dataset_for_its_length() -> None:
    """torch would warn where it gives more than it said, only because somebody asked."""

    class Sized(Stream):
        def __len__(self) -> int:
            return 2

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(list(resumable(DataLoader(Sized(), 4)))) == 6


def test_two_loops_at_once_have_no_position() -> None:
    loader = resumable(MAKERS["in order"]())
    for _first, _second in zip(loader, loader, strict=True):
        pass
    with pytest.raises(CheckpointError, match="two loops take batches from it"):
        loader.state_dict()


def test_without_order_there_is_no_position() -> None:
    with pytest.raises(CheckpointError, match="in_order=False"):
        resumable(DataLoader(Rows(), 2, num_workers=2, in_order=False))
