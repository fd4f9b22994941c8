"""What callbacks for trainers of others (headway.lightning, headway.huggingface) have in common:
they learn the parts late, see a step more than once, and save places that no object holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch.utils._pytree import tree_map_only
from torch.utils.data import DataLoader

from headway._api import should_stop
from headway.checkpoint import claims
from headway.checkpoint.checkpointer import Checkpointer
from headway.checkpoint.loader import is_plain, resumable


class Told:
    """A part whose state one function tells and another takes."""

    def __init__(self, tell: Callable[[], Any], take: Callable[[Any], None]) -> None:
        self.state_dict, self.load_state_dict = tell, take


class LateScheduler:
    """A scheduler that the trainer makes after restore(), which sets the optimizer's first rates.
    resume() brings back both."""

    def __init__(self, optimizer: Any, find: Callable[[], Any]) -> None:
        self._optimizer, self._find = optimizer, find
        self._saved: dict[str, Any] = {}

    def state_dict(self) -> dict[str, Any]:
        rates = [group["lr"] for group in self._optimizer.param_groups]
        return {"rates": rates, "scheduler": self._find().state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._saved = state

    def resume(self, *_: Any) -> None:
        self._find().load_state_dict(self._saved["scheduler"])
        for group, rate in zip(self._optimizer.param_groups, self._saved["rates"], strict=True):
            group["lr"] = rate


def numbered(name: str, things: Iterable[Any]) -> dict[str, Any]:
    """Parts of a kind: name0, name1, …"""
    return {f"{name}{i}": thing for i, thing in enumerate(things)}


def resumable_in(loaders: Any) -> Any:
    """A loader, or lists and dictionaries of loaders: those that are plain become resumable."""
    return tree_map_only(
        DataLoader, lambda loader: resumable(loader) if is_plain(loader) else loader, loaders
    )


class Keeping:
    """A callback's half that is the same for all. Training thread only."""

    keeper: Checkpointer | None = None  # from begin() on
    step: int | None = None  # the last one that was restored or is over

    def __init__(self, folder: str, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.allow_missing = options.pop("allow_missing", ())  # for restore()

    def begin(self, **parts: Any) -> int | None:
        """With all parts that are not None. The step to go on after, or None."""
        parts = {name: part for name, part in parts.items() if part is not None}
        if self.keeper is not None:  # of a training that an exception has ended
            claims.release(self.keeper)
        self.keeper = Checkpointer(self.folder, **parts, **self.options)
        self.step = self.keeper.restore(allow_missing=self.allow_missing)
        return self.step

    def after(self, step: int) -> bool:
        """Saves when it is time; True: the training is to end here. While gradients are
        accumulated the step stays the same, and nothing is done."""
        if step == (self.step or 0):
            return False
        assert self.keeper is not None
        self.step = step
        self.keeper.maybe_save(step)
        return should_stop(step)

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        assert self.keeper is not None
        self.keeper.close()
