"""What ranks agree on without a word: pure rules of choose.py, transfer.py and guests.py."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from replica_machine import PACKAGE  # noqa: F401 (puts the package on the path)

from headway.checkpoint import choose, guests, transfer
from headway.checkpoint.clock import Clock

Offer, Stored, Candidate = choose.Offer, choose.Stored, choose.Candidate


def staged(step: int, rank: int, ranks: int, *guests: int, time_ns: int = 0, attempt: int = 1):
    time_ns = time_ns or step * 10_000_000_000
    return choose.Staged(attempt, step, time_ns, rank, ranks, tuple(sorted({rank, *guests})))


def offers(*staged_by_rank: list, stored: list | None = None) -> list:
    return [Offer(staged, stored or []) for staged in staged_by_rank]


def tiers(found: list) -> list[tuple[str, int]]:
    return [(candidate.tier, candidate.step) for candidate in found]


def test_all_have_their_own() -> None:
    found = choose.candidates(offers([staged(7, 0, 2)], [staged(7, 1, 2), staged(6, 1, 2)]))
    assert tiers(found) == [("replica", 7)], "rank 0 has nothing of step 6"


def test_the_newest_on_disk_is_the_one_that_came_last() -> None:
    """A copy of an old one, or a clock that was set back."""
    second = 1_000_000_000
    disk = [
        Stored("step-00000600-000001", 600, 600 * second),
        Stored("step-00000500-000002", 500, 500 * second),
        Stored("step-00000700-000003", 700, 700 * second),
        Stored("step-00000510-000010", 510, 510 * second),
    ]
    found = choose.candidates(offers([], stored=disk))
    assert [one.step for one in found] == [510, 700, 500, 600]
    assert found[0].time_ns > 700 * second, "what is saved next is newer than all of them"
    before = offers([staged(900, 0, 1, time_ns=900 * second)], stored=disk)
    assert tiers(choose.candidates(before))[0] == ("replica", 900)


def test_times_of_saves_rise(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    times = iter([100, 101, 50, 50, 200, 60])
    monkeypatch.setattr("time.time_ns", lambda: next(times))
    assert [clock.now_ns() for _ in range(4)] == [100, 101, 102, 103]
    clock.is_past(150)
    assert [clock.now_ns() for _ in range(2)] == [200, 201]
    clock.is_past(1000)
    assert next(times, None) is None


def test_a_guest_stands_for_a_lost_rank() -> None:
    left = offers([], [staged(7, 1, 3, 0)], [staged(7, 2, 3, 1)])
    assert tiers(choose.candidates(left)) == [("peer", 7)]
    assert choose.lacking(left, (1, 7, 3)) == [0]
    assert choose.newest_lost(left) is None


def test_without_its_guest_it_is_lost() -> None:
    left = offers([], [], [staged(7, 2, 3, 1)])
    assert choose.candidates(left) == []
    assert choose.newest_lost(left) == choose.Lost(7, [0])


def test_a_save_that_some_did_not_end() -> None:
    """Rank 1 died in the copy, and what it had of its own was with rank 0 already."""
    left = offers([staged(7, 0, 2, 1), staged(6, 0, 2, 1)], [staged(6, 1, 2, 0)])
    assert tiers(choose.candidates(left)) == [("peer", 7), ("replica", 6)]
    alone = offers([staged(7, 0, 2), staged(6, 0, 2)], [staged(6, 1, 2)])
    assert tiers(choose.candidates(alone)) == [("replica", 6)], "on one machine nobody has guests"


def test_another_number_of_ranks() -> None:
    fewer = offers([staged(7, 0, 3, 2)], [staged(7, 1, 3, 0)])
    assert tiers(choose.candidates(fewer)) == [("peer", 7)]
    more = offers([staged(7, 0, 2, 1)], [staged(7, 1, 2, 0)], [])
    assert tiers(choose.candidates(more)) == [("peer", 7)], "the third takes rank 0's"
    numbered_anew = offers([staged(7, 1, 3, 0)], [staged(7, 2, 3, 1)])
    assert tiers(choose.candidates(numbered_anew)) == [("peer", 7)]


def test_attempts_are_not_mixed() -> None:
    left = offers([staged(7, 0, 2, attempt=1)], [staged(7, 1, 2, attempt=2)])
    assert choose.candidates(left) == []


def test_the_newest_first_and_the_nearest_of_the_same() -> None:
    second = 1_000_000_000
    disk = [Stored("step-7-1", 7, 70 * second + 5), Stored("step-9-2", 9, 200 * second)]
    left = offers([], [staged(7, 1, 2, 0), staged(8, 1, 2, 0)], stored=disk)
    kept = [Stored("step-7-1", 7, 70 * second + 5)]
    found = choose.candidates(left, kept)
    assert tiers(found) == [("disk", 9), ("peer", 8), ("peer", 7), ("disk", 7), ("store", 7)]


def test_every_rank_computes_the_same() -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(200):
        ranks = chance.randrange(1, 5)
        left = [
            Offer(
                [
                    staged(chance.randrange(3), rank, ranks, (rank - 1) % ranks, time_ns=1)
                    for _ in range(chance.randrange(3))
                ],
                [Stored("step-1", 1, 1)],
            )
            for rank in range(ranks)
        ]
        shuffled = [Offer(chance.sample(o.staged, len(o.staged)), o.stored) for o in left]
        found = choose.candidates(left)
        assert found == choose.candidates(shuffled)
        for candidate in found:
            if candidate.tier == "replica":
                assert choose.lacking(left, choose.key_of(candidate)) == []


# ---- who gives what to whom


def test_sources_share_the_work() -> None:
    deals = transfer.share_out([[], [], [0, 1, 2, 3]], [b"\1\1\1\1", b"\1\1\1\1", b""], [100] * 4)
    assert Counter(deal.source for deal in deals) == {0: 2, 1: 2}


def test_what_a_rank_has_it_takes_from_itself() -> None:
    deals = transfer.share_out([[0, 1], []], [b"\1\0", b"\1\1"], [8, 8])
    assert [(deal.source, deal.what) for deal in deals] == [(0, 0), (1, 1)]


def test_what_nobody_has_is_named() -> None:
    with pytest.raises(transfer.Nowhere) as error:
        transfer.share_out([[], [0, 1]], [b"\1\0", b""], [8, 8])
    assert error.value.args == (1, 1)


def test_messages_come_to_an_end_with_few_at_a_time() -> None:
    """Each rank begins its own in their order, `AT_ONCE` at a time: no order of deals may hang."""
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(100):
        ranks = chance.randrange(2, 6)
        deals = [
            transfer.Deal(*chance.sample(range(ranks), 2), what, chance.randrange(4) * 5_000_000)
            for what in range(chance.randrange(40))
        ]
        order = transfer.messages(deals)
        assert sum(m.end - m.begin for m in order) == sum(deal.size for deal in deals)
        assert all(0 < m.end - m.begin <= transfer.MESSAGE_BYTES for m in order)
        queues = {r: [m for m in order if r in (m.source, m.to)] for r in range(ranks)}
        while any(queues.values()):
            begun = {r: queue[: transfer.AT_ONCE] for r, queue in queues.items()}
            over = [m for m in order if m in begun[m.source] and m in begun[m.to]]
            assert over, "everybody waits for somebody else"
            done = chance.choice(over)
            queues[done.source].remove(done)
            queues[done.to].remove(done)


@pytest.mark.parametrize("machines, local", [(2, 1), (3, 1), (2, 8), (5, 4)])
def test_the_ring_leads_to_other_machines(machines: int, local: int) -> None:
    sizes = [local] * (machines * local)
    for rank in range(len(sizes)):
        to, source = guests.ring(rank, sizes)
        assert to // local != rank // local != source // local
        assert guests.ring(to, sizes)[1] == rank
