"""The page of the channel has every setting with its default, every purpose of its draws, and true sizes."""

import re
from pathlib import Path

from murmura.core.channel import ChannelSettings
from murmura.core.rng import Purpose
from murmura.core.settings import as_dict

DOCS = Path(__file__).parents[2] / "docs"


def test_every_setting_is_documented_with_its_default() -> None:
    page = (DOCS / "channel.md").read_text(encoding="utf-8")
    for name, value in as_dict(ChannelSettings()).items():
        shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        assert re.search(rf"^\| `{name}` \| `?{shown}`? \|", page, re.MULTILINE), name


def test_every_purpose_is_documented() -> None:
    page = (DOCS / "randomness.md").read_text(encoding="utf-8")
    for purpose in Purpose:
        assert purpose.name in page
