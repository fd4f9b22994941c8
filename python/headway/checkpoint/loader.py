"""A plain torch DataLoader that can be saved in the middle of a pass, and goes on there.

What is saved: the random numbers before the pass, and how many batches the loop has got (workers
are ahead of it). The next process sets the first, has the sampler draw again and drops as many
batches of *indices*: no item is loaded for nothing. Where there are no indices (an IterableDataset,
a loader with an __iter__ of its own) batches are drawn and dropped, which costs their loading.

The script's `for batch in loader` stays: the loader gets a class of its own that derives from the
one it had, because Python looks for __iter__ there and not in the object. All else is as it was,
and so are the random numbers that it uses.
"""

from __future__ import annotations

import functools
import warnings
import weakref
import zlib
from array import array
from collections import deque
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from headway.checkpoint import randomness
from headway.checkpoint.errors import CheckpointMismatchError, CheckpointUsageError

_KEY = "_headway_position"
ANEW = "To begin the pass anew, make the checkpointer without loader="


def is_plain(loader: Any) -> bool:
    """A DataLoader that does not know its position. accelerate's have a state_dict() that works
    only for loaders which do."""
    if not isinstance(loader, DataLoader):
        return False
    own = callable(getattr(loader, "state_dict", None))
    return not own or not getattr(loader, "use_stateful_dataloader", True)


def is_resumable(loader: Any) -> bool:
    return hasattr(type(loader), "_headway")


def resumable(loader: Any) -> Any:
    """The same loader, with state_dict() and load_state_dict()."""
    if is_resumable(loader):
        return loader
    if not getattr(loader, "in_order", True) and loader.num_workers > 0:
        raise CheckpointUsageError(
            "loader: in_order=False gives batches in an order that nobody can repeat; "
            "leave it away, or make the checkpointer without loader="
        )
    # Not by assignment: accelerate's loaders say that they are of another class.
    object.__dict__["__class__"].__set__(loader, _derived(type(loader)))
    return loader


def epoch_of(loader: Any) -> int:
    """Passes over a resumable loader that are over."""
    return loader._headway.epoch  # type: ignore[no-any-return]


def _rebuild(kind: type, state: dict[str, Any]) -> Any:
    loader = kind.__new__(kind)
    loader.__dict__.update(state)
    return loader


class _Pass:
    """One walk over the loader."""

    def __init__(self, saved: dict[str, Any] | None, batches: int | None) -> None:
        self.saved = saved  # what it goes on from
        self.batches = batches  # of the whole pass; None: nobody knows
        self.consumed = 0  # batches that the loop has got
        self.drawn = 0  # batches of indices that the sampler gave; workers are ahead
        self.ended = False
        self.exhausted = False  # the sampler is
        self.sum: int | None = 0  # over indices of what was consumed; None: they are no numbers
        self.sum_drawn: int | None = 0
        self.ahead: deque[int | None] = deque()  # sums of what is drawn and not consumed
        self.before: dict[str, Any] = {}  # randomness before the pass
        self.first: dict[str, Any] | None = None  # and before the first index

    def drew(self, indices: Any) -> None:
        self.drawn += 1
        if self.sum_drawn is not None:
            try:
                several = indices if isinstance(indices, (list, tuple)) else (indices,)
                self.sum_drawn = zlib.crc32(array("q", several).tobytes(), self.sum_drawn)
            except (TypeError, OverflowError):
                self.sum_drawn = None
        self.ahead.append(self.sum_drawn)

    def took(self) -> None:
        self.consumed += 1
        if self.ahead:
            self.sum = self.ahead.popleft()

    def state(self) -> dict[str, Any]:
        return {
            "consumed": self.consumed,
            "batches": self.batches,
            "drawn": self.drawn,
            "exhausted": self.exhausted,
            "sums": [self.sum, self.sum_drawn],
            "before": self.before,
            "first": self.first,
        }


class _Position:
    """Of one loader. Training thread only."""

    def __init__(self, loader: Any) -> None:
        self.own = randomness.Own(loader)
        self._loader = weakref.ref(loader)
        self.epoch = 0  # passes that are over
        self.walk: _Pass | None = None
        self.waiting: dict[str, Any] | None = None  # a pass that goes on with the next iteration
        self.twice = False
        owner = next(kind for kind in type(loader).__mro__[1:] if "__iter__" in vars(kind))
        # DataPipes are IterableDatasets.
        self.iterable = isinstance(loader.dataset, IterableDataset)
        indices = owner is DataLoader and hasattr(owner, "_index_sampler")
        self.by_index = indices and not self.iterable
        self._busy = False  # inside of the loader's own __iter__

    # ---- saved and restored

    def state(self) -> dict[str, Any]:
        if self.twice:
            raise CheckpointUsageError(
                "loader: two loops take batches from it at the same time, so it has no position; "
                "give each its own loader"
            )
        now = self.waiting
        if now is None and self.walk is not None and not self.walk.ended:
            now = self.walk.state()
        return {"version": 1, "epoch": self.epoch, "own": self.own.state(), "pass": now}

    def load(self, state: dict[str, Any]) -> None:
        if state.get("version") != 1 or "pass" not in state:
            raise CheckpointMismatchError(
                "loader: what was saved is not the state of a plain DataLoader"
            )
        self.own.set(state["own"])
        self.epoch = state["epoch"]
        self.walk, self.waiting = None, state["pass"]

    def _randomness(self) -> dict[str, Any]:
        return {"process": randomness.of_process(), "own": self.own.state()}

    def _set(self, state: dict[str, Any]) -> None:
        randomness.set_process(state["process"])
        self.own.set(state["own"])

    # ---- a pass

    def begin(self, iterate: Any) -> _Batches:
        if self.walk is not None and not self.walk.ended:
            self.epoch += 1  # its loop was left before the end
        saved, self.waiting = self.waiting, None
        walk = self.walk = _Pass(saved, self._batches())
        self._busy = True
        try:
            if saved is None:
                walk.before = self._randomness()
                return _Batches(self, walk, iterate())
            now = self._randomness()
            walk.before, walk.first = saved["before"], saved["first"]
            self._note_epochs(saved["before"]["own"]["epochs"])
            self._set(saved["before"])
            batches = _Batches(self, walk, iterate())
            self._back(now, walk)
            return batches
        finally:
            self._busy = False

    def _batches(self) -> int | None:
        """Of a pass. An IterableDataset is not asked: torch would hold it to its answer."""
        if self.iterable:
            return None
        try:
            return len(self._loader())
        except Exception:  # a sampler of the script's own, without a length or with a bad one
            return None

    def _note_epochs(self, saved: list[int]) -> None:
        here = self.own.epochs()
        if here != saved:
            warnings.warn(
                f"headway: loader: set_epoch({here[0]}) was called, but the pass that goes on is "
                f"epoch {saved[0]}; let the script's loop begin with keeper.epoch",
                RuntimeWarning,
                stacklevel=4,
            )

    def _back(self, now: dict[str, Any], walk: _Pass) -> None:
        """Random numbers as they were before those of the past were drawn again."""
        randomness.set_process(now["process"])
        saved = walk.saved
        assert saved is not None
        same = (walk.drawn, walk.exhausted) == (saved["drawn"], saved["exhausted"])
        if same or walk.drawn == 0:
            self.own.set(now["own"])  # which may serve others too
        # Else there is another number of workers, and the sampler's own numbers are right.

    def indices(self, sampler: Any) -> Iterator[Any]:
        """The sampler's own, but those of the past."""
        walk = self.walk
        if walk is None or not self._busy:
            return iter(sampler)  # somebody else looks at the sampler
        if self._is_late_start():
            # Workers that persist get their seed in the first pass only, and the sampler is asked
            # twice in it. Here a later pass is the first of its process: back to how it begins.
            self._set(walk.before)
        return self._draw(walk, iter(sampler))  # now: it may draw random numbers

    def _is_late_start(self) -> bool:
        loader = self._loader()
        late: bool = self.epoch > 0 and loader.persistent_workers and loader._iterator is None
        return late

    def _draw(self, walk: _Pass, inner: Iterator[Any]) -> Iterator[Any]:
        if walk.saved is None:
            walk.first = walk.first or self._randomness()
        elif self.by_index:
            now = None if self._busy else self._randomness()
            if walk.first is not None:
                self._set(walk.first)
            self._skip(walk, inner, walk.saved["consumed"])
            if now is not None:
                self._back(now, walk)
        for indices in inner:
            walk.drew(indices)
            self._compare(walk)
            yield indices
        walk.exhausted = True

    def _skip(self, walk: _Pass, inner: Iterator[Any], count: int) -> None:
        while walk.consumed < count:
            try:
                indices = next(inner)
            except StopIteration:
                raise _too_short(walk.consumed, count) from None
            walk.drew(indices)
            walk.took()
        if walk.saved is not None and walk.saved["sums"][0] not in (None, walk.sum):
            raise _other_order()

    def _compare(self, walk: _Pass) -> None:
        """What workers had been asked for when it was saved has to be the same too."""
        if walk.saved is None or not self.by_index or walk.drawn != walk.saved["drawn"]:
            return
        if walk.saved["sums"][1] not in (None, walk.sum_drawn):
            raise _other_order()

    def first_asked(self, walk: _Pass, iterator: Iterator[Any]) -> None:
        """The loop wants its first batch. Without indices, those of the past are drawn now, and
        dropped."""
        if walk.saved is None:
            walk.first = walk.first or self._randomness()
            return
        if self.by_index:
            return
        now = self._randomness()
        count = walk.saved["consumed"]
        if walk.first is not None and not walk.drawn:  # else workers have begun
            self._set(walk.first)
        while walk.consumed < count:
            try:
                next(iterator)
            except StopIteration:
                raise _too_short(walk.consumed, count) from None
            walk.took()
        self._set(now)


def keep_epoch(loader: Any, coded: Any, saved_ranks: int, ranks: int) -> bool:
    """Of a state of another number of ranks: passes that are over are so for any number, also one
    of which nothing was left but to ask for more. `coded`: as it is stored. False: a pass was under
    way, which is lost."""
    position = loader._headway
    if not isinstance(coded, dict) or type(coded.get("epoch")) is not int:
        return False
    position.epoch = coded["epoch"]
    under_way = coded.get("pass")
    if not isinstance(under_way, dict):
        return True
    if not _had_all(under_way, loader, saved_ranks, ranks):
        return False
    position.epoch += 1
    return True


def _had_all(under_way: dict[str, Any], loader: Any, saved_ranks: int, ranks: int) -> bool:
    """Had the loop got every batch of this pass?"""
    consumed, batches = under_way.get("consumed"), under_way.get("batches")
    if type(consumed) is not int or consumed == 0:
        return False
    if under_way.get("exhausted") is True and under_way.get("drawn") == consumed:
        return True
    if type(batches) is int:
        return consumed >= batches  # its own: that of other ranks is rounded in another way
    # An older state, or an IterableDataset: as many as all ranks of today give together.
    try:
        return consumed * saved_ranks >= len(loader) * ranks
    except TypeError:  # without a length
        return False


def finished(state: dict[str, Any]) -> dict[str, Any]:
    """A plain loader's state, from one who knows that the pass is over without asking for more."""
    if not isinstance(state.get("pass"), dict):
        return state
    return {**state, "epoch": state["epoch"] + 1, "pass": None}


def _too_short(found: int, wanted: int) -> CheckpointMismatchError:
    return CheckpointMismatchError(
        f"loader: it ended after {found} batches, and {wanted} of this pass were consumed when it "
        f"was saved: its data is other data. {ANEW}"
    )


def _other_order() -> CheckpointMismatchError:
    return CheckpointMismatchError(
        "loader: its sampler does not give the same batches a second time, so the place in this "
        "pass is lost. Give it a generator= of its own, or draw all that is random when it begins. "
        f"{ANEW}"
    )


class _Batches:
    """What the loop gets batches from: the loader's own iterator, and counts."""

    def __init__(self, position: _Position, walk: _Pass, iterator: Any) -> None:
        self._position = position
        self._walk = walk
        self._iterator = iterator
        self._begun = False

    def __iter__(self) -> _Batches:
        return self

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        if name == "_iterator":
            raise AttributeError(name)
        return getattr(self._iterator, name)

    def __next__(self) -> Any:
        walk, position = self._walk, self._position
        if not self._begun:
            self._begun = True
            position.first_asked(walk, self._iterator)
        try:
            batch = next(self._iterator)
        except StopIteration:
            if not walk.ended and walk is position.walk:
                position.epoch += 1
            walk.ended = True
            raise
        walk.took()
        if walk is not position.walk:
            position.twice = True
        return batch


class _Indices:
    """In place of the loader's sampler."""

    def __init__(self, position: _Position, sampler: Any) -> None:
        self._position = position
        self._sampler = sampler

    def __iter__(self) -> Iterator[Any]:
        return self._position.indices(self._sampler)

    def __len__(self) -> int:
        return len(self._sampler)


@functools.cache
def _derived(base: Any) -> type:
    """What resumable() makes of a loader's class. With one base only: an object that is to change
    its class has to stay as large as it was."""

    class Resumable(base):  # type: ignore[misc]
        @property
        def _headway(self) -> _Position:
            # Made when it is asked for: some frameworks make a second loader of the class.
            found: _Position | None = self.__dict__.get(_KEY)
            if found is None:
                found = self.__dict__[_KEY] = _Position(self)
            return found

        def __iter__(self) -> _Batches:
            return self._headway.begin(super().__iter__)

        @property
        def _index_sampler(self) -> Any:
            return _Indices(self._headway, super()._index_sampler)

        def state_dict(self) -> dict[str, Any]:
            return self._headway.state()

        def load_state_dict(self, state: dict[str, Any]) -> None:
            self._headway.load(state)

        def __reduce_ex__(self, protocol: Any) -> Any:
            """Copied or pickled it is the loader that it was."""
            state = {key: value for key, value in vars(self).items() if key != _KEY}
            return _rebuild, (base, state)

    Resumable.__name__, Resumable.__qualname__ = base.__name__, base.__qualname__
    Resumable.__module__, Resumable.__doc__ = base.__module__, base.__doc__
    return Resumable
