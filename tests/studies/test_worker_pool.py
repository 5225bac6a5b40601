"""Fits in workers: every one is heard of once, and by one worker before the next begins."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from murmura.core.errors import FederationError
from murmura.lab.papers.reproduce import Steps, run_steps
from murmura.studies.worker_pool import (
    REPETITIONS,
    WorkerPool,
    Workers,
    as_finished,
    held,
    processes,
)
from tests.studies import lost_workers

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="extra cluster")


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


def test_what_the_others_were_at_is_not_lost_with_a_task_that_fails() -> None:
    """The first task fails while the second is at work; the third has not begun and never does."""
    failed, heard = threading.Event(), list[int]()

    def work(task: int) -> int:
        if task == 1:
            failed.set()
            raise ValueError(task)
        assert failed.wait(60)
        return task

    with ThreadPoolExecutor(2) as pool, pytest.raises(ValueError, match="1"):
        run_steps(pool, work, [two_steps([2, 1])], lambda task, _: heard.append(task))
    assert heard == [2]


def test_a_sequence_whose_results_are_known_goes_on_while_others_work() -> None:
    """The first sequence waits for the last task of the second, which comes after two steps that are known."""
    reached = threading.Event()

    def work(task: int) -> int:
        if task == 7:
            reached.set()
        return 2 * task if reached.wait(60) else 0

    def resumed() -> Steps[int, int, int]:
        for task in (5, 6, 7):
            results = yield [task]
        return results[0]

    kept: Callable[[int], int | None] = {5: 10, 6: 12}.get
    with ThreadPoolExecutor(2) as pool:
        answers = run_steps(pool, work, [two_steps([1]), resumed()], lambda *_: None, kept)
    assert answers == [4, 14]


class Shrinking(WorkerPool):
    """A cluster of eight workers, all of which but one are lost after the first tasks were sent."""

    def __init__(self) -> None:
        self.threads, sizes = ThreadPoolExecutor(1), iter([8])
        super().__init__(lambda: next(sizes, 1), self.threads.submit)


def test_workers_that_are_lost_cost_no_result() -> None:
    calls = [(task, partial(doubled, task)) for task in range(20)]
    found = {task: future.result() for task, future in as_finished(Shrinking(), calls)}
    assert found == {task: 2 * task for task in range(20)}


def test_a_call_that_failed_comes_after_those_that_had_begun() -> None:
    calls = [(task, partial(int, "none" if task == 1 else str(task))) for task in range(20)]
    found = list(as_finished(Shrinking(), calls))
    assert [task for task, _ in found] == [0, *range(2, 10), 1]  # of the ten that were begun at once
    with pytest.raises(ValueError, match="none"):
        found[-1][1].result()


def test_an_expected_failure_ends_nothing() -> None:
    calls = [(task, partial(int, "none" if task == 1 else str(task))) for task in range(20)]
    found = dict(as_finished(Shrinking(), calls, (ValueError,)))
    assert sorted(found) == list(range(20))
    assert [task for task, future in found.items() if future.exception()] == [1]


@pytest.mark.process
@pytest.mark.parametrize("cluster", ["", pytest.param("local:2", marks=needs_dask)])
def test_a_worker_killed_at_work_costs_a_line_and_a_repetition(cluster: str, tmp_path: Path) -> None:
    lines: list[str] = []
    with processes(Workers(2, cluster, said=lines.append), tmp_path) as pool:
        assert list(pool.map(lost_workers.die_once, range(6))) == [n * n for n in range(6)]
    assert len(lines) == 1
    assert "repeated" in lines[0]
    assert (tmp_path / "killed").exists()


@pytest.mark.process
def test_a_task_that_always_ends_its_worker_is_given_up() -> None:
    with pytest.raises(FederationError, match="did so 4 times"), processes(2) as pool:
        list(pool.map(lost_workers.die_always, [1]))


@needs_dask
@pytest.mark.process
def test_on_a_cluster_it_is_given_up_in_a_sentence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from murmura.runtimes.dask import CONFIG

    monkeypatch.setitem(CONFIG, "distributed.scheduler.allowed-failures", 0)
    here = Workers(cluster="local:1")
    with pytest.raises(FederationError, match="one did so 1 times"), processes(here) as pool:
        list(pool.map(lost_workers.die_always, [1]))


@pytest.mark.process
def test_workers_killed_by_different_tasks_cost_the_others_nothing(tmp_path: Path) -> None:
    lines: list[str] = []
    kills = REPETITIONS + 2
    with processes(Workers(2, said=lines.append), tmp_path) as pool:
        waiting = pool.submit(lost_workers.wait_for, "over")
        try:
            assert list(pool.map(lost_workers.die_once_each, range(kills))) == list(range(kills))
        finally:
            (tmp_path / "over").touch()
        assert waiting.result() == 1
    assert len(lines) == kills


@needs_dask
@pytest.mark.process
def test_two_commands_on_one_cluster_keep_their_own_and_leave_nothing() -> None:
    from murmura.runtimes.dask import dask_client

    with dask_client("local:1") as client:
        shared = Workers(cluster=client.cluster.scheduler_address)
        with processes(shared, "one") as first, processes(shared, "other") as second:
            assert [first.submit(held).result(), second.submit(held).result()] == ["one", "other"]
        assert list(client.run(lost_workers.count_held).values()) == [0]


@pytest.mark.process
@pytest.mark.parametrize("cluster", ["", pytest.param("local:2", marks=needs_dask)])
def test_what_tasks_have_in_common_comes_once_to_every_worker(cluster: str) -> None:
    with processes(Workers(2, cluster), lost_workers.Counted()) as pool:
        assert set(pool.map(lost_workers.count_arrivals, range(20))) == {1}


def test_one_worker_holds_it_too_and_lets_go_of_it() -> None:
    with processes(1, "common") as pool:
        assert pool.submit(held).result() == "common"
    assert held() is None


def test_a_cluster_here_has_so_many_workers() -> None:
    assert [Workers(cluster=where).size for where in ("local:3", "tcp://host:8786", "")] == [3, 1, 1]
    assert not Workers(cluster="local:1").alone
