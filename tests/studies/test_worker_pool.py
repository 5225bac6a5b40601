"""Fits in workers: every one is heard of once, and by one worker before the next begins."""

import pytest

from murmura.studies.worker_pool import Steps, processes, run_steps


def doubled(task: int) -> int:
    return 2 * task


def two_steps(first: list[int]) -> Steps[int, int, int]:
    results = yield first
    last = yield [sum(results)]
    return last[0]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=[pytest.mark.process, pytest.mark.slow])])
def test_every_task_is_heard_of_once(workers: int) -> None:
    heard: list[tuple[int, int]] = []
    with processes(workers) as pool:
        answers = run_steps(
            pool, doubled, [two_steps([1, 2]), two_steps([5])], lambda *done: heard.append(done)
        )
    assert answers == [12, 20]
    assert sorted(heard) == [(1, 2), (2, 4), (5, 10), (6, 12), (10, 20)]


def test_one_worker_tells_of_a_task_before_it_begins_the_next() -> None:
    order: list[str] = []

    def work(task: int) -> int:
        order.append(f"begin {task}")
        return task

    with processes(1) as pool:
        run_steps(pool, work, [two_steps([1, 2])], lambda task, _: order.append(f"heard {task}"))
    assert order == ["begin 1", "heard 1", "begin 2", "heard 2", "begin 3", "heard 3"]


def test_a_task_that_fails_ends_the_work_at_once() -> None:
    begun: list[int] = []

    def work(task: int) -> int:
        begun.append(task)
        raise ValueError(task)

    with processes(1) as pool, pytest.raises(ValueError, match="1"):
        run_steps(pool, work, [two_steps([1, 2])], lambda *_: None)
    assert begun == [1]
