"""transformers.Trainer, going on where the last process was (docs/saving.md):

callback = headway.huggingface.Checkpoints("checkpoints", every_steps=100)
trainer = Trainer(..., callbacks=[callback])
trainer.train(resume_from_checkpoint=callback.restore(trainer))
"""

from __future__ import annotations

import dataclasses
import tempfile
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerState
from transformers.trainer_callback import ExportableState

import headway as hw
from headway.checkpoint import CheckpointError, randomness


class Checkpoints(TrainerCallback):
    def __init__(self, folder: str, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.keeper: Any = None
        self.saved: dict[str, Any] = {}

    def restore(self, trainer: Trainer) -> str | None:
        """For train(resume_from_checkpoint=...). None: nothing is saved, it begins anew."""
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise CheckpointError("huggingface: FSDP and DeepSpeed make the optimizer too late")
        self.trainer, self.optimizer = trainer, trainer.create_optimizer()
        parts = {"model": trainer.model, "optimizer": self.optimizer, "progress": self}
        if trainer.accelerator.scaler is not None:
            parts["scaler"] = trainer.accelerator.scaler
        self.keeper = hw.checkpointer(self.folder, **parts, **self.options)
        if self.keeper.restore() is None:
            return None
        self.saved["random"] = randomness.of_process()
        self.saved["rates"] = [group["lr"] for group in self.optimizer.param_groups]
        # Trainer takes its position from a folder, and would look for the model there too.
        trainer._load_from_checkpoint = lambda *_, **__: None
        self.position = tempfile.TemporaryDirectory(prefix="headway-")
        TrainerState(**self.saved["state"]).save_to_json(f"{self.position.name}/trainer_state.json")
        return self.position.name

    def state_dict(self) -> dict[str, Any]:
        everyone = [*self.trainer.callback_handler.callbacks, self.trainer.control]
        exported = [each for each in everyone if isinstance(each, ExportableState)]
        state = dataclasses.replace(self.trainer.state, stateful_callbacks=exported)
        rates = self.trainer.lr_scheduler.state_dict()
        return {"state": dataclasses.asdict(state), "scheduler": rates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.saved = state

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.keeper is None:
            raise CheckpointError("huggingface: give train() what callback.restore(trainer) says")
        if self.saved:  # a new scheduler has set its first rates
            self.trainer.lr_scheduler.load_state_dict(self.saved["scheduler"])
            for group, rate in zip(self.optimizer.param_groups, self.saved["rates"], strict=True):
                group["lr"] = rate
            randomness.set_process(self.saved["random"])

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.saved and state.epoch % 1:  # the way back into an epoch took random numbers
            randomness.set_process(self.saved["random"])
        self.saved = {}

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.keeper.maybe_save(state.global_step)
        control.should_training_stop |= hw.should_stop(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.keeper.close()
