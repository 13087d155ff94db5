"""Whose turn it is, and whose time comes."""

from __future__ import annotations

from scrapy_rep.queue.turns import Later, Turns


class Item:
    def __init__(self, name: str = "") -> None:
        self.name = name
        self.due_at: float | None = None
        self.rank: int | None = None


class TestTurns:
    def test_the_least_active_come_first_and_equals_in_turn(self) -> None:
        turns: Turns[Item] = Turns()
        for name, active in (("a", 1), ("b", 0), ("c", 0), ("d", 2)):
            turns.put(Item(name), active)
        order = []
        while (first := turns.first()) is not None:
            order.append(first.name)
            turns.drop(first)
        assert order == ["b", "c", "a", "d"]
        assert turns.least_active is None

    def test_to_put_again_changes_the_rank_or_nothing(self) -> None:
        turns: Turns[Item] = Turns()
        a, b = Item(), Item()
        turns.put(a, 0)
        turns.put(b, 0)
        turns.put(a, 0)
        assert turns.first() is a
        turns.put(a, 3)
        assert turns.are_several
        assert (turns.first(), turns.least_active, len(turns)) == (b, 0, 2)
        turns.drop(b)
        turns.drop(b)
        assert (turns.first(), turns.least_active, len(turns)) == (a, 3, 1)
        turns.drop(a)
        for active in (0, 2, 1):
            turns.put(a, active)
            assert (turns.first(), turns.least_active, len(turns)) == (a, active, 1)
            assert not turns.are_several


class TestLater:
    def test_by_time(self) -> None:
        later, items = Later(), [Item() for _ in range(4)]
        for item, due_at in zip(items, (3.0, 1.0, 2.0, 1.0), strict=True):
            later.put(item, due_at)
        assert later.next_at == 1.0
        assert later.pop(0.9) is None
        assert [later.pop(2.0), later.pop(2.0), later.pop(2.0)] == [items[1], items[3], items[2]]
        assert later.pop(2.0) is None
        assert later.next_at == 3.0

    def test_the_time_that_was_put_last_counts(self) -> None:
        later, item = Later(), Item()
        for due_at in (5.0, 1.0, 9.0, 9.0):
            later.put(item, due_at)
        assert later.next_at == 9.0
        assert later.pop(8.0) is None
        assert later.pop(9.0) is item
        assert later.pop(99.0) is None
        assert item.due_at is None
        assert later.next_at is None

    def test_an_item_comes_once_and_at_no_earlier_time(self) -> None:
        later, item = Later(), Item()
        for due_at in (5.0, 9.0, 5.0):
            later.put(item, due_at)
        assert later.pop(5.0) is item
        assert later.pop(99.0) is None
        for due_at in (105.0, 109.0):
            later.put(item, due_at)
        assert later.pop(106.0) is None
        assert later.pop(109.0) is item
