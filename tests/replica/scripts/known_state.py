"""A state that is known after every step, so that what comes back can be checked to the last bit.

Every element is a function of the step and its place. What is restored has to be of one step: any
mixture, anything older than what was said to be safe, is found by the test that reads the diary.
"""

import os

import torch
import torch.distributed as dist
from diary import RANKS, train

import headway as hw

ROWS = 150_000


def set_to(model: torch.nn.Module, step: int) -> None:
    for number, tensor in enumerate(model.state_dict().values()):
        places = torch.arange(tensor.numel(), dtype=torch.int64)
        tensor.view(-1).copy_((places * 31 + step * 1_000_003 + number * 7) % 1_000_000_007)


def step_in(model: torch.nn.Module) -> int:
    """The one step whose state this is. Raises for a mixture."""
    first = next(iter(model.state_dict().values())).view(-1)
    for step in range(1, 100_000):
        if int(first[0]) == step * 1_000_003 % 1_000_000_007:
            break
    wanted = make()
    set_to(wanted, step)
    for name, tensor in model.state_dict().items():
        if not torch.equal(tensor, wanted.state_dict()[name]):
            raise SystemExit(f"MIXTURE: {name} is not of step {step}")
    return step


def make() -> torch.nn.Module:
    model = torch.nn.Module()
    for number in range(6):
        part = torch.zeros(ROWS + number, dtype=torch.int64)
        model.register_parameter(f"part{number}", torch.nn.Parameter(part, requires_grad=False))
    return model


class Known(torch.optim.Optimizer):
    """Whose steps lead to a state that is known."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__(model.parameters(), {})
        self.model = model

    def step(self, step: int) -> None:  # type: ignore[override]
        set_to(self.model, step)


def main() -> None:
    if RANKS > 1:
        dist.init_process_group("gloo")
    model = make()
    values = {"step": 0}
    optimizer = Known(model)
    keeper = hw.checkpointer(
        os.environ["FOLDER"],
        model=model,
        values=values,
        every_steps=int(os.environ.get("EVERY", "3")),
        stage_steps=1,
    )
    start = keeper.restore() or 0
    if start:
        found = step_in(model)
        if found != start or values["step"] != start:
            raise SystemExit(f"MIXTURE: step {start}, tensors of {found}, values of {values}")
    train(keeper, values, start, optimizer.step)


main()
