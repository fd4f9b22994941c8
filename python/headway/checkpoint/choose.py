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
    time_ns: int = 0  # by which it is newer than others


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


def _in_order(stored: Iterable[Stored]) -> list[Stored]:
    """With times that rise with the commits, whose numbers are in their names: what came into a
    folder later is newer, whatever the clock said, and also if it is a copy of an old one."""
    found: list[Stored] = []
    for one in sorted(stored, key=lambda one: int(one.name.rpartition("-")[2])):
        before_ns = found[-1].time_ns if found else one.time_ns - 1
        found.append(one._replace(time_ns=max(one.time_ns, before_ns + 1)))
    return found


def candidates(offers: list[Offer], kept: list[Stored] | None = None) -> list[Candidate]:
    """What the ranks have among them and what the store has kept, the newest first. Newest by the
    clock at which the step was reached: a replica that slept while the job ran elsewhere is not
    taken for the present. Of one state in several places the nearest goes first."""
    found: list[Candidate] = []
    stored = [{s.name: s for s in offer.stored} for offer in offers]
    shared = set.intersection(*(set(one) for one in stored))
    on_disk = _in_order(stored[0][name] for name in shared)
    in_store = _in_order(kept or [])
    for tier, ones in (("disk", on_disk), ("store", in_store)):
        for one in ones:
            found.append(Candidate(tier, one.step, name=one.name, time_ns=one.time_ns))
    for key in _keys(offers):
        if _without_document(offers, key):
            continue
        tier = "peer" if lacking(offers, key) else "replica"
        attempt, step, ranks = key
        time_ns = _time_ns(offers, key, [*on_disk, *in_store])
        found.append(Candidate(tier, step, attempt, ranks, time_ns=time_ns))
    found.sort(key=lambda one: (one.time_ns, TIERS.index(one.tier), one), reverse=True)
    return found


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
