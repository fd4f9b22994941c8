"""Lightning, going on where the last process was (docs/saving.md):

Trainer(callbacks=[headway.lightning.Checkpoints("checkpoints", every_steps=100)]).fit(module)
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer import call

from headway.checkpoint import CheckpointUsageError
from headway.checkpoint.loader import finished
from headway.checkpoint.trainers import Keeping, Told, numbered, resumable_in


def _progress(trainer: Trainer) -> dict[str, Any]:
    state = trainer.fit_loop.state_dict()
    if trainer.fit_loop.epoch_loop.batch_progress.is_last_batch:  # nobody asks the loader on
        loop = state["state_dict"]
        loop["combined_loader"] = [finished(each) for each in loop.get("combined_loader", [])]
    return {"fit_loop": state, "callbacks": call._call_callbacks_state_dict(trainer)}


def _go_on(trainer: Trainer, saved: dict[str, Any]) -> None:
    trainer.fit_loop.load_state_dict(saved["fit_loop"])
    call._call_callbacks_load_state_dict(trainer, saved)


class Checkpoints(Keeping, Callback):
    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        source = trainer.fit_loop._data_source
        make = source.dataloader
        source.dataloader = lambda: resumable_in(make())  # before the loops ask for a batch
        parts = numbered("optimizer", trainer.optimizers)
        parts |= numbered("scheduler", [each.scheduler for each in trainer.lr_scheduler_configs])
        progress = Told(lambda: _progress(trainer), lambda saved: _go_on(trainer, saved))
        first = parts.pop("optimizer0", None)
        self.begin(model=trainer.model, optimizer=first, progress=progress, **parts)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.num_training_batches == float("inf"):
            raise CheckpointUsageError(
                "lightning: it fetches ahead from a loader without __len__()"
            )

    def on_train_batch_end(self, trainer: Trainer, *args: Any) -> None:
        trainer.should_stop |= self.after(trainer.global_step)
