"""A save to the disk that was due and not made: when to make up for it."""

from __future__ import annotations


class Owed:
    def __init__(self) -> None:
        self._since: int | None = None  # the first step of which it was not made

    def missed(self, step: int) -> None:
        self._since = step if self._since is None else self._since

    def made(self) -> None:
        self._since = None

    def is_due(self, step: int) -> bool:
        """After 1, 2, 4, 8 … steps: each try costs a little, and all ranks have to make it at the
        same step."""
        late = step - self._since if self._since is not None else 0
        return late > 0 and late & (late - 1) == 0
