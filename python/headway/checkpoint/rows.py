"""Which rows of embedding tables have changed since they were saved.

Optimizers say it: just before a step, a sparse gradient names the rows that the step will change;
of a dense one they are those that are not all zero. Where that is not so (another kind of
optimizer, a tensor that somebody changed by hand) a table counts as changed in all its rows, which
is slow and never wrong."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from headway import _replica
from headway.checkpoint.errors import CheckpointUsageError
from headway.checkpoint.parts import unwrap
from headway.checkpoint.tensors import Placed, address_of

_EMBEDDINGS = (torch.nn.Embedding, torch.nn.EmbeddingBag)
_LOOK_BYTES = 16 << 20  # of a dense gradient, at once


def why_not(optimizer: Any, group: dict[str, Any]) -> str | None:
    """What keeps this optimizer from leaving rows without a gradient as they are."""
    kind = type(optimizer)
    if getattr(kind, "headway_rows_stay", False):  # somebody else's class that promises it
        return None
    if kind is torch.optim.SGD:
        bad = [key for key in ("momentum", "weight_decay") if group.get(key)]
    elif kind is torch.optim.Adagrad:
        bad = [key for key in ("weight_decay",) if group.get(key)]
    elif kind is torch.optim.SparseAdam:
        bad = []
    else:
        return f"{kind.__name__} changes every row"
    return f"{kind.__name__} with {bad[0]} changes every row" if bad else None


def rows_of(gradient: torch.Tensor) -> torch.Tensor:
    """Rows that a step with this gradient may change."""
    if gradient.layout == torch.sparse_coo:
        return gradient._indices()[0]
    # As long as the optimizer's own pass over it, without a mask of the whole table.
    rows = gradient.shape[0]
    flat = gradient.reshape(rows, -1)
    step = max(1, _LOOK_BYTES // max(1, flat.shape[1] * flat.element_size()))
    found = [
        (flat[begin : begin + step] != 0).any(dim=1).nonzero().flatten() + begin
        for begin in range(0, rows, step)
    ]
    return torch.cat(found) if found else torch.empty(0, dtype=torch.int64)


class Table:
    """A parameter, with what its optimizer keeps for each of its rows."""

    def __init__(self, name: str, parameter: torch.Tensor) -> None:
        self.name = name
        self.parameter = parameter
        self.changed = _replica.ChangedRows(parameter.shape[0])
        self.fed_by_script = False
        self.warned = False
        self.state: list[torch.Tensor] = []
        self._seen = self._now()

    def mark(self, ids: torch.Tensor) -> None:
        ids = ids.detach().reshape(-1)
        if ids.dtype not in (torch.int64, torch.int32):
            raise CheckpointUsageError(f"{self.name}: row numbers of type {ids.dtype}")
        ids = ids.cpu().contiguous()
        self.changed.mark(ids.data_ptr(), ids.numel(), ids.element_size())

    def _now(self) -> list[tuple[int, int]]:
        return [(one.data_ptr(), one._version) for one in (self.parameter, *self.state)]

    def remember(self) -> None:
        """All changes up to now are marked."""
        self._seen = self._now()

    def look(self) -> None:
        """Marks everything if there was a change that nobody marked."""
        if not self.fed_by_script and self._now() != self._seen:
            self.changed.mark_all()
            self.remember()

    def before_step(self, optimizer: Any, group: dict[str, Any]) -> None:
        self.look()
        gradient = self.parameter.grad
        problem = why_not(optimizer, group)
        if gradient is None or self.fed_by_script:
            return
        if problem is None:
            self.mark(rows_of(gradient))
        else:
            self.changed.mark_all()
            if not self.warned:
                warnings.warn(
                    f"headway: {self.name} is saved whole each time: {problem}",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self.warned = True

    def after_step(self, optimizer: Any) -> None:
        rows = self.parameter.shape[0]
        kept = optimizer.state.get(self.parameter, {}).values()
        self.state = [
            one
            for one in kept
            if isinstance(one, torch.Tensor) and one.dim() > 0 and one.shape[0] == rows
        ]
        self.remember()


class RowTracker:
    """All tables of a model. Costs each optimizer step the marking of its rows."""

    def __init__(
        self, model: torch.nn.Module | None, named: Sequence[torch.Tensor], optimizer: Any
    ) -> None:
        self.tables = {id(p): Table(n, p) for n, p in _find(model, named)}
        for group in getattr(optimizer, "param_groups", []):
            for parameter in group["params"]:
                problem = why_not(optimizer, group)
                if problem is not None and id(parameter) in self.tables:
                    name = self.tables[id(parameter)].name
                    raise CheckpointUsageError(
                        f"checkpointer: {name} cannot be saved by rows: {problem}; use SGD without "
                        "momentum and decay, Adagrad or SparseAdam for it, or staging='full'"
                    )
        self._hooks = [
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ]

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _of(self, optimizer: Any) -> Iterable[tuple[Table, dict[str, Any]]]:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                table = self.tables.get(id(parameter))
                if table is not None and table.parameter is parameter:
                    yield table, group

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        for table, group in self._of(optimizer):
            table.before_step(optimizer, group)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        for table, _ in self._of(optimizer):
            table.after_step(optimizer)

    def touched(self, parameter: torch.Tensor, ids: torch.Tensor | Sequence[int]) -> None:
        """For what no optimizer of torch's changes: the script says which rows it did."""
        table = self.tables.get(id(parameter))
        if table is None:
            raise CheckpointUsageError(
                "checkpointer: touched() is about no table that is saved by rows"
            )
        rows = _row_numbers(table, ids)
        table.fed_by_script = True
        table.mark(rows)

    def pieces(self, tensors: list[Placed]) -> list[tuple[int, Any]]:
        """Which of these tensors are tables or lie beside one, and the rows that changed."""
        by_address: dict[int, Table] = {}
        for table in self.tables.values():
            table.look()
            for one in (table.parameter, *table.state):
                by_address[one.data_ptr()] = table
        found = []
        for index, placed in enumerate(tensors):
            address = address_of(placed.local)
            table_there = by_address.get(address) if address else None
            if table_there is not None and placed.piece.shape[:1] == (
                table_there.parameter.shape[0],
            ):
                found.append((index, table_there.changed))
        return found

    def sealed(self, persist: bool) -> None:
        for table in self.tables.values():
            table.changed.sealed(persist)
            table.remember()


def _row_numbers(table: Table, given: Any) -> torch.Tensor:
    """A script's, which may be anything."""
    try:
        ids = torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError):
        ids = None
    if ids is not None and ids.numel() == 0:
        return torch.empty(0, dtype=torch.int64)
    if ids is None or ids.dtype not in (torch.int64, torch.int32):
        kind = type(given).__name__ if ids is None else f"row numbers of type {ids.dtype}"
        raise CheckpointUsageError(
            f"checkpointer: touched(): {table.name}: {kind}: want whole numbers of rows"
        )
    rows, least, most = table.parameter.shape[0], int(ids.min()), int(ids.max())
    if least < 0 or most >= rows:
        raise CheckpointUsageError(
            f"checkpointer: touched(): {table.name} has rows 0 to {rows - 1}, and no row "
            f"{least if least < 0 else most}"
        )
    return ids


def passed_over(model: torch.nn.Module | None, named: Sequence[torch.Tensor]) -> list[str]:
    """Tables that are named, or found, and cannot be saved by rows: which, and why."""
    names = {id(p): n for n, p in unwrap(model).named_parameters()} if model is not None else {}
    found = {id(parameter) for _, parameter in _find(model, named)}
    return [
        f"{names.get(id(parameter), 'a table')} {_what_is_it(parameter)}"
        for parameter in all_tables(model, named)
        if id(parameter) not in found
    ]


def all_tables(model: torch.nn.Module | None, named: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Whether they can be saved by rows or not."""
    wanted = {id(parameter): parameter for parameter in named}
    for module in unwrap(model).modules() if model is not None else ():
        if isinstance(module, _EMBEDDINGS) and module.sparse:
            wanted[id(module.weight)] = module.weight
    return list(wanted.values())


def _what_is_it(parameter: torch.Tensor) -> str:
    if type(parameter) not in (torch.Tensor, torch.nn.Parameter):
        return f"is a {type(parameter).__name__}"
    if parameter.device.type != "cpu":
        return f"is on {parameter.device}"
    return "has no rows" if parameter.dim() == 0 else "is not in order in memory"


def no_table(model: torch.nn.Module | None) -> str:
    """Why none was found, and what to do about it."""
    modules = unwrap(model).named_modules() if model is not None else ()
    dense = [n for n, m in modules if isinstance(m, _EMBEDDINGS) and not m.sparse]
    if not dense:
        return (
            "no nn.Embedding or nn.EmbeddingBag with sparse=True on the processor; others are "
            "named by tables="
        )
    return (
        f"the embedding {dense[0]!r} has dense gradients: make it with sparse=True, or name its "
        "weight in tables=[…]"
    )


def _find(
    model: torch.nn.Module | None, named: Sequence[torch.Tensor]
) -> list[tuple[str, torch.Tensor]]:
    wanted = {id(parameter) for parameter in named}
    if model is not None:
        for module in unwrap(model).modules():
            if isinstance(module, _EMBEDDINGS) and module.sparse:
                wanted.add(id(module.weight))
    names = {id(p): n for n, p in unwrap(model).named_parameters()} if model is not None else {}
    found: dict[int, tuple[str, torch.Tensor]] = {}
    parameters = [*named, *(model.parameters() if model is not None else [])]
    for parameter in parameters:
        plain = type(parameter) in (torch.Tensor, torch.nn.Parameter) and parameter.dim() > 0
        if id(parameter) in wanted and plain and address_of(parameter.detach()):
            found[id(parameter)] = (names.get(id(parameter), "a table"), parameter)
    return list(found.values())
