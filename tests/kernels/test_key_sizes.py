"""The public numbers of sparse sums and reads."""

import pytest

from murmura.kernels.point_functions.sizes import GROUPS, Bins, is_read_shorter, is_sparse_shorter


@pytest.mark.parametrize(
    ("items", "count", "width", "depth", "key", "query"),
    [(10**4, 156, 193, 8, 61_512, 5_079), (10**5, 156, 1_924, 11, 69_117, 12_684)],
)
def test_known_sizes(items: int, count: int, width: int, depth: int, key: int, query: int) -> None:
    bins = Bins(items, 100)
    assert (bins.count, bins.width, bins.depth) == (count, width, depth)
    assert (bins.key_bytes(33), bins.query_bytes) == (key, query)


@pytest.mark.parametrize("items", [1, 2, 5, 128, 3_416, 40_981])
@pytest.mark.parametrize("cap", [1, 2, 7, 100])
def test_every_item_has_a_place_in_each_group(items: int, cap: int) -> None:
    bins = Bins(items, cap)
    assert bins.count == GROUPS * bins.group
    assert bins.group * bins.width >= items
    assert bins.width <= 2**bins.depth
    assert bins.places == bins.count * bins.width


def test_bytes_follow_the_cap_and_hardly_the_catalogue() -> None:
    small, large = Bins(10**5, 100), Bins(10**6, 100)
    assert large.key_bytes(33) <= 1.3 * small.key_bytes(33)
    assert Bins(10**5, 200).key_bytes(33) > 1.8 * small.key_bytes(33)


def test_the_shorter_encoding_is_taken() -> None:
    assert not is_sparse_shorter(1_000, 100, 2)
    assert is_sparse_shorter(10**5, 100, 2)
    assert not is_sparse_shorter(3_416, 500, 1)
    assert not is_read_shorter(500, 100, 64)
    assert is_read_shorter(10**5, 100, 64)
