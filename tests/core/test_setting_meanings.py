"""Every setting of every model says what it means, from the source it stands in."""

import pytest

from murmura.core.settings import meanings, settings
from murmura.studies.methods import describe_settings, names, setting_groups


@settings
class Base:
    """A class of settings."""

    first: int = 1  # what the first means
    # what the second means,
    # in two lines
    second: int = 2
    third: int = 3


@settings
class Derived(Base):
    """Another."""

    first: int = 5
    third: int = 4  # said here


def test_the_comment_beside_a_setting_or_above_it_is_its_meaning() -> None:
    both = "what the second means, in two lines"
    assert meanings(Base) == {"first": "what the first means", "second": both, "third": ""}
    assert meanings(Derived) == {"first": "what the first means", "second": both, "third": "said here"}


@pytest.mark.parametrize("name", names())
def test_every_setting_has_a_meaning_and_a_group(name: str) -> None:
    groups = setting_groups(name)
    assert all(groups)
    found = {key: meaning for group in groups.values() for key, meaning in group.items()}
    assert set(found) == {key for key, _, _ in describe_settings(name)}
    assert [key for key, meaning in found.items() if not meaning] == []
