"""Saved states that a job could not go on from, as one line for a person: which are damaged, which
do not fit, which could not be read."""

from __future__ import annotations

from headway.checkpoint.errors import (
    CheckpointDamagedError,
    CheckpointError,
    CheckpointMismatchError,
)

NAMED_MAX = 3  # of a kind; states with the same trouble are named together
STATES_MAX = 4  # of one trouble

_KINDS: tuple[tuple[type[CheckpointError], str], ...] = (
    (CheckpointMismatchError, "does not fit"),
    (CheckpointDamagedError, "damaged"),
    (CheckpointError, "cannot be read"),
)


def _some(texts: list[str], most: int, between: str) -> str:
    more = f"{between}and {len(texts) - most} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


class Passed:
    def __init__(self) -> None:
        self.states = 0
        # By kind, and then by what is wrong.
        self._found: dict[type[CheckpointError], dict[str, list[str]]] = {}

    def add(self, error: CheckpointError, what: str = "") -> None:
        """`what` is the state; "" where the error names it."""
        self.states += 1
        kind = next(kind for kind, _ in _KINDS if isinstance(error, kind))
        self._found.setdefault(kind, {}).setdefault(str(error), []).append(what)

    def error(self, folder: str, without_memory: str = "") -> CheckpointError:
        """Of the kind that a person can do most about. `without_memory`: the variable that leaves
        out those that are only in memory, if there are such."""
        said = []
        for kind, words in _KINDS:
            troubles = [
                f"{_some(states, STATES_MAX, ', ')}: {text}" if any(states) else text
                for text, states in self._found.get(kind, {}).items()
            ]
            if troubles:
                said.append(f"{words}: {_some(troubles, NAMED_MAX, ' | ')}")
        kind = next(kind for kind, _ in _KINDS if kind in self._found)
        return kind(
            f"{folder}: none of {self.states} saved states can be gone on from: {'; '.join(said)}. "
            "To begin anew, save into another folder"
            + (f"; {without_memory}=1 leaves out what is in memory" if without_memory else "")
        )
