"""Lightning, going on where the last process was (docs/saving.md):

Trainer(callbacks=[headway.lightning.Checkpoints("checkpoints", every_steps=100)]).fit(module)
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch.utils._pytree import tree_map_only
from torch.utils.data import DataLoader

import headway as hw
from headway.checkpoint import CheckpointError
from headway.checkpoint.loader import finished, is_plain, resumable


class _Progress:
    """Where the loops, their loaders and the other callbacks are."""

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer

    def state_dict(self) -> dict[str, Any]:
        loop = self.trainer.fit_loop
        state = loop.state_dict()
        if loop.epoch_loop.batch_progress.is_last_batch:  # the loader does not know: nobody asks on
            loaders = state["state_dict"].get("combined_loader", [])
            state["state_dict"]["combined_loader"] = [finished(loader) for loader in loaders]
        callbacks = {each.state_key: each.state_dict() for each in self.trainer.callbacks}
        return {"fit_loop": state, "callbacks": callbacks}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.trainer.fit_loop.load_state_dict(state["fit_loop"])
        for each in self.trainer.callbacks:
            if found := state["callbacks"].get(each.state_key):
                each.load_state_dict(found)


class Checkpoints(Callback):
    def __init__(self, folder: str, **options: Any) -> None:
        self.folder, self.options = folder, options

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        first, *others = trainer.optimizers or [None]
        parts = {f"optimizer{i}": each for i, each in enumerate(others, 1)}
        for i, config in enumerate(trainer.lr_scheduler_configs):
            parts[f"scheduler{i}"] = config.scheduler
        source = trainer.fit_loop._data_source
        make = source.dataloader
        source.dataloader = lambda: tree_map_only(  # before the loops ask for a batch
            DataLoader, lambda loader: resumable(loader) if is_plain(loader) else loader, make()
        )
        parts["progress"] = _Progress(trainer)
        self.keeper = hw.checkpointer(
            self.folder, model=trainer.model, optimizer=first, **parts, **self.options
        )
        self.step = self.keeper.restore() or 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.num_training_batches == float("inf"):
            raise CheckpointError("lightning: it fetches ahead from a loader without __len__()")

    def on_train_batch_end(self, trainer: Trainer, *args: Any) -> None:
        if trainer.global_step != self.step:  # else gradients are accumulated
            self.step = trainer.global_step
            self.keeper.maybe_save(self.step)
            trainer.should_stop |= hw.should_stop(self.step)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.keeper.close()
