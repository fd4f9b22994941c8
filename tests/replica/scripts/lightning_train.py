"""A real Lightning Trainer, killed after the step KILL, once. Prints the batches and the end."""

import hashlib
import os
import warnings

import lightning.pytorch as pl
import one_kill
import torch
from torch.utils.data import DataLoader, TensorDataset

import headway

KEEPER = headway.lightning.Checkpoints(os.environ["FOLDER"], every_steps=1)
warnings.filterwarnings("ignore")


class Module(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(2, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.Dropout(),
            torch.nn.Linear(8, 1),
        )

    def training_step(self, batch, batch_idx):
        rows = batch[0]
        loss = self.net(rows).square().mean()
        where = f"epoch {self.current_epoch} batch {batch_idx} {rows[:, 0].tolist()}"
        print(f"{where} {loss.item()!r} {self.optimizers().param_groups[0]['lr']!r}", flush=True)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("checked", self.net(batch[0]).square().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2)
        return [optimizer], [
            {"scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 3), "interval": "step"}
        ]

    def train_dataloader(self):
        rows = torch.arange(44, dtype=torch.float32).view(-1, 2)
        return DataLoader(TensorDataset(rows), 4, shuffle=True)

    def val_dataloader(self):
        return DataLoader(TensorDataset(torch.ones(4, 2)), 2)


class Kill(pl.Callback):
    def on_train_batch_end(self, trainer, *args) -> None:
        one_kill.after(trainer.global_step, KEEPER.keeper)


def main() -> None:
    pl.seed_everything(1)
    module = Module()
    every = pl.callbacks.EarlyStopping("checked", patience=100)
    trainer = pl.Trainer(
        max_epochs=3,
        accumulate_grad_batches=int(os.environ.get("ACCUMULATE", "1")),
        accelerator="cpu",
        devices=one_kill.RANKS,
        strategy="ddp" if one_kill.RANKS > 1 else "auto",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        callbacks=[KEEPER, every, Kill()],
    )
    trainer.fit(module)
    whole = hashlib.sha256()
    for tensor in module.state_dict().values():
        whole.update(tensor.numpy().tobytes())
    counts = trainer.global_step, trainer.current_epoch
    print(f"end {counts} {whole.hexdigest()}")


main()
