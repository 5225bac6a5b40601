"""Loading, filtering and splitting, from the file on disk to a training and a test part."""

from benchmarks import world
from benchmarks.sides import Benchmark, Work


def ours() -> Work:
    from murmura.engine.prepared import whole_split
    from murmura.engine.protocol import protocol

    def work() -> tuple[int, int, int]:
        dataset = world.load()
        split = whole_split(dataset, protocol("fpl", dataset))
        return split.data.n_users, len(split.train), len(split.test)

    return work


def judge(mine: tuple[int, int, int], _: None) -> tuple[str, str]:
    users, train, test = mine
    if world.name() == "ml-1m":
        assert (users, train) == (6040, 802_553), "the split of the papers"
    return f"{users:,} users, {train:,} + {test:,} rows", ""


BENCHMARK = Benchmark(title="load, filter and split", ours=ours, goal=2.0, judge=judge)
