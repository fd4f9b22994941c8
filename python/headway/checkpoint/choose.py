"""From which step, and from where, a job goes on: pure, the same answer on every rank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# Ranks look at their clocks one after the other: of one step, the memory of a rank may say that it
# is a little older than what was written from another's.
SAME_STEP_NS = 1_000_000_000


class Staged(NamedTuple):
    """A whole step of one rank in a machine's memory."""

    attempt: int
    step: int
    time_ns: int
    rank: int  # whose it is
    ranks: int  # of the job at that time
    documents: tuple[int, ...]  # of which ranks everything that nobody else has is in it


class Stored(NamedTuple):
    """A checkpoint on disk, or in an object store."""

    name: str
    step: int
    time_ns: int


class Damaged(NamedTuple):
    """What is wrong with one that is there and is not good."""

    text: str
    newest: bool  # nothing that is good is newer


class Offer(NamedTuple):
    """What one rank could go on from."""

    staged: list[Staged]
    stored: list[Stored]
    damaged: list[Damaged] = []  # others on disk or in memory


class Candidate(NamedTuple):
    tier: str  # one of TIERS
    step: int
    attempt: int = 0
    ranks: int = 0
    name: str = ""


TIERS = ("store", "disk", "peer", "replica")  # the nearest last

Key = tuple[int, int, int]  # attempt, step, ranks


def key_of(state: Staged | Candidate) -> Key:
    return state.attempt, state.step, state.ranks


def document_for(rank: int, ranks: int) -> int:
    """Whose document a rank goes on from, of a state that so many ranks saved."""
    return rank if rank < ranks else 0


def lacking(offers: list[Offer], key: Key) -> list[int]:
    """The ranks that have none of their own of this state. With another number of ranks nobody has:
    what is left behind belongs to those of then."""
    return [
        rank
        for rank, offer in enumerate(offers)
        if not any(
            key_of(s) == key and s.rank == rank and s.ranks == len(offers) for s in offer.staged
        )
    ]


def _without_document(offers: list[Offer], key: Key) -> list[int]:
    """The ranks whose own state is in nobody's memory."""
    held = {d for offer in offers for s in offer.staged if key_of(s) == key for d in s.documents}
    return [r for r in lacking(offers, key) if document_for(r, key[2]) not in held]


def _keys(offers: list[Offer]) -> set[Key]:
    return {key_of(s) for offer in offers for s in offer.staged}


def _time_ns(offers: list[Offer], key: Key, stored: Iterable[Stored]) -> int:
    newest = max(s.time_ns for offer in offers for s in offer.staged if key_of(s) == key)
    same = [s.time_ns for s in stored if s.step == key[1]]
    return max([newest, *(t for t in same if abs(t - newest) <= SAME_STEP_NS)])


def candidates(offers: list[Offer], kept: list[Stored] | None = None) -> list[Candidate]:
    """What the ranks have among them and what the store has kept, the newest first. Newest by the
    clock at which the step was reached: a replica that slept while the job ran elsewhere is not
    taken for the present. Of one state in several places the nearest goes first."""
    found: list[tuple[int, Candidate]] = []
    stored = [{s.name: s for s in offer.stored} for offer in offers]
    on_disk = [stored[0][name] for name in set.intersection(*(set(one) for one in stored))]
    found += [(one.time_ns, Candidate("disk", one.step, name=one.name)) for one in on_disk]
    found += [(one.time_ns, Candidate("store", one.step, name=one.name)) for one in kept or []]
    for key in _keys(offers):
        if _without_document(offers, key):
            continue
        tier = "peer" if lacking(offers, key) else "replica"
        attempt, step, ranks = key
        time_ns = _time_ns(offers, key, [*on_disk, *(kept or [])])
        found.append((time_ns, Candidate(tier, step, attempt, ranks)))
    found.sort(key=lambda one: (one[0], TIERS.index(one[1].tier), one[1]), reverse=True)
    return [candidate for _, candidate in found]


class Lost(NamedTuple):
    step: int
    ranks: list[int]  # of which nothing is left


def newest_lost(offers: list[Offer]) -> Lost | None:
    """The newest state in memory, if what some ranks had of their own is gone from it."""
    newest = max(_keys(offers), key=lambda key: _time_ns(offers, key, []), default=None)
    if newest is None:
        return None
    gone = _without_document(offers, newest)
    return Lost(newest[1], gone) if gone else None
