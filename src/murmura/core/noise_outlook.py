"""What noise will leave of a sum, told before any of it is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from murmura.core.errors import SettingError


@dataclass(frozen=True)
class NoiseOutlook:
    """How much people have in common, beside what noise alone looks like; `what` names the unit of both."""

    what: str
    signal: float
    noise: float

    @property
    def ratio(self) -> float:
        """Below 1 there is no use in the exchange."""
        return self.signal / self.noise

    @property
    def hopeless(self) -> bool:
        """Whether noise is expected to drown what there is to learn."""
        return self.ratio < 1

    def sentence(self) -> str:
        """For people."""
        verdict = (
            "hopeless" if self.hopeless else "worth it" if self.ratio >= 2 else "little more than popularity"
        )
        found = f"{self.signal:.3g} against {self.noise:.3g} of noise ({self.ratio:.2g} times)"
        return f"{self.what}: {found}: {verdict}"

    def check(self, epsilon: float) -> None:
        """Refuse what is hopeless."""
        if self.hopeless:
            raise SettingError(
                f"noise for epsilon {epsilon:g} must leave something to learn, but {self.what} is "
                f"{self.signal:.3g} where noise alone makes {self.noise:.3g}: expect less than the most "
                "popular items give; raise epsilon, bring more people together, take fed-mostpop (counts "
                "alone), or say hopeless=true."
            )
