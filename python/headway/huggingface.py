"""transformers.Trainer, going on where the last process was (docs/saving.md):

callback = headway.huggingface.Checkpoints("checkpoints", every_steps=100)
trainer = Trainer(..., callbacks=[callback])
trainer.train(resume_from_checkpoint=callback.restore(trainer))
"""

import dataclasses
import tempfile
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerState
from transformers.trainer_callback import ExportableState

from headway.checkpoint import CheckpointUsageError, randomness
from headway.checkpoint.trainers import Keeping, LateScheduler, Told


def _progress(trainer: Trainer) -> dict[str, Any]:
    everyone = [*trainer.callback_handler.callbacks, trainer.control]
    exported = [each for each in everyone if isinstance(each, ExportableState)]
    return dataclasses.asdict(dataclasses.replace(trainer.state, stateful_callbacks=exported))


class Checkpoints(Keeping, TrainerCallback):
    def restore(self, trainer: Trainer) -> str | None:
        """For train(resume_from_checkpoint=...). None: nothing is saved, it begins anew."""
        if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled:
            raise CheckpointUsageError("huggingface: FSDP, DeepSpeed make the optimizer too late")
        optimizer, state = trainer.create_optimizer(), TrainerState()
        rates = LateScheduler(optimizer, lambda: trainer.lr_scheduler)
        place = Told(lambda: _progress(trainer), vars(state).update)
        parts = {"progress": place, "scheduler": rates, "scaler": trainer.accelerator.scaler}
        if self.begin(model=trainer.model, optimizer=optimizer, **parts) is None:
            return None
        # Trainer would load these from a folder. What it cannot be given otherwise is its place.
        trainer._load_from_checkpoint = lambda *_, **__: None
        trainer._load_optimizer_and_scheduler = rates.resume
        trainer._load_rng_state = randomness.as_now()
        self.folder_of_place = tempfile.TemporaryDirectory(prefix="headway-")
        state.save_to_json(f"{self.folder_of_place.name}/trainer_state.json")
        return self.folder_of_place.name

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        if self.keeper is None:
            raise CheckpointUsageError("huggingface: train() needs what restore(trainer) says")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_training_stop |= self.after(state.global_step)
