"""A real transformers.Trainer, killed after the step KILL, once. Prints the batches and the end."""

import hashlib
import os
import tempfile
import warnings

import one_kill
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed

import headway

KEEPER = headway.huggingface.Checkpoints(os.environ["FOLDER"], every_steps=1)
warnings.filterwarnings("ignore")


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Dropout(),
            torch.nn.Linear(8, 1),
        )

    def forward(self, rows, labels=None):
        print(f"batch {rows[:, 0].tolist()}", flush=True)
        return {"loss": self.net(rows).square().mean()}


class Kill(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs) -> None:
        one_kill.after(state.global_step, KEEPER.keeper)


def main() -> None:
    set_seed(1)
    model = Model()
    rows = torch.arange(44, dtype=torch.float32).view(-1, 2)
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=tempfile.mkdtemp(dir=os.environ["OUTPUT"]),
            num_train_epochs=3,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=int(os.environ.get("ACCUMULATE", "1")),
            learning_rate=1e-2,
            lr_scheduler_type="linear",
            save_strategy="no",
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo" if one_kill.RANKS > 1 else None,
            disable_tqdm=True,
            seed=1,
        ),
        train_dataset=[{"rows": row, "labels": 0} for row in rows],
        callbacks=[KEEPER, Kill()],
    )
    trainer.train(resume_from_checkpoint=KEEPER.restore(trainer))
    whole = hashlib.sha256()
    for tensor in model.state_dict().values():
        whole.update(tensor.numpy().tobytes())
    state = trainer.state
    logged = [entry["step"] for entry in state.log_history if "grad_norm" in entry]
    print(f"end {state.global_step} {state.epoch} {whole.hexdigest()} logged since {logged[0]}")


main()
