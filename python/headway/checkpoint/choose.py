"""From which step, and from where, a job goes on: pure, the same answer on every rank."""

from __future__ import annotations

from typing import NamedTuple


class Staged(NamedTuple):
    """A whole step in a rank's replica."""

    attempt: int
    step: int
    time_ns: int


class Stored(NamedTuple):
    """A checkpoint on disk, or in an object store."""

    name: str
    step: int
    time_ns: int


class Offer(NamedTuple):
    """What one rank could go on from."""

    staged: list[Staged]
    stored: list[Stored]
    damaged: list[str] = []  # what is wrong with others on disk


class Candidate(NamedTuple):
    tier: str  # "replica", "disk" or "store"
    step: int
    attempt: int = 0
    name: str = ""


def candidates(offers: list[Offer], kept: list[Stored] | None = None) -> list[Candidate]:
    """What all ranks have and what the store has kept, the newest first. Newest by the clock at
    which the step was reached: a replica that slept while the job ran elsewhere is not taken for
    the present. Of one state in several places the nearest goes first."""
    found: list[tuple[int, int, Candidate]] = []
    staged = [{(s.attempt, s.step): s.time_ns for s in offer.staged} for offer in offers]
    for key in set.intersection(*(set(one) for one in staged)):
        newest = max(one[key] for one in staged)
        found.append((newest, 2, Candidate("replica", key[1], attempt=key[0])))
    stored = [{s.name: s for s in offer.stored} for offer in offers]
    for name in set.intersection(*(set(one) for one in stored)):
        one = stored[0][name]
        found.append((one.time_ns, 1, Candidate("disk", one.step, name=name)))
    found += [(one.time_ns, 0, Candidate("store", one.step, name=one.name)) for one in kept or []]
    found.sort(reverse=True)
    return [candidate for _, _, candidate in found]
