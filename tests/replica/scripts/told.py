"""A training with a loader's workers. KILL=7 kills rank 1 after that step, once; BREAK=3 puts a
file in the folder's place for the saves of two steps; MISUSE=1 saves without restore()."""

import os
import shutil
import signal

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

import headway as hw

folder = os.environ["FOLDER"]
kill, broken = int(os.environ.get("KILL", "0")), int(os.environ.get("BREAK", "0"))
rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(16, int(os.environ.get("WIDTH", "4")))
optimizer = torch.optim.AdamW(model.parameters())
loader = DataLoader(TensorDataset(torch.randn(96, 16)), batch_size=4, num_workers=1, shuffle=True)
keeper = hw.checkpointer(folder, model=model, optimizer=optimizer, loader=loader, every_steps=1)
step = 0 if "MISUSE" in os.environ else keeper.restore() or 0
parallel = torch.nn.parallel.DistributedDataParallel(model)
for (x,) in loader:
    step += 1
    loss = parallel(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if broken and rank == 0 and step == broken:
        os.rename(folder, folder + ".aside")
        open(folder, "w").close()
    dist.barrier()
    if step == 1:
        keeper.save(step)  # when there is memory for it; from then on there is
    else:
        keeper.maybe_save(step)
    keeper.wait()
    dist.barrier()
    if broken and rank == 0 and step == broken + 1:
        os.remove(folder)
        shutil.move(folder + ".aside", folder)
    if kill == step and rank == 1 and os.environ["HEADWAY_ATTEMPT"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    if step >= 12:
        break
keeper.close()
del parallel
dist.destroy_process_group()
