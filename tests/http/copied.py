"""A federation whose machines are copied, and put back from older copies."""

from __future__ import annotations

import shutil

from murmura.device.device import Device
from tests.http.network import World

TRAINING: dict[str, object] = {"rounds": 100, "clients": "all", "factors": 2, "prior": False}
MACHINES = ("coordinator", "seed", "vector")


class Copied(World):
    """A federation whose folders are copied and put back; machines that are not named go on as they are."""

    def copy(self, name: str) -> None:
        """Stop all machines, keep a copy of their files, start them again."""
        self.servers.close()
        (self.folder / name).mkdir()
        for file in self.folder.glob("*.db*"):
            shutil.copy(file, self.folder / name)
        self.start()

    def restore(self, name: str, *machines: str) -> None:
        """Stop all machines, put the copies of these back, start them again."""
        self.servers.close()
        for machine in machines:
            for file in self.folder.glob(f"{machine}.db*"):
                file.unlink()
            for file in (self.folder / name).glob(f"{machine}.db*"):
                shutil.copy(file, self.folder)
        self.start()

    def start(self) -> None:
        self.servers.start_coordinator()
        self.servers.start_aggregator("seed")
        self.servers.start_aggregator("vector")

    def files(self) -> dict[str, bytes]:
        """What all machines have written."""
        self.servers.close()
        found = {file.name: file.read_bytes() for file in self.folder.glob("*.db")}
        self.start()
        return found

    async def rounds(self, devices: list[Device], n: int) -> None:
        """So many more are committed."""
        wanted = self.coordinator.rounds.now.position.done + n
        while self.coordinator.rounds.now.position.done < wanted:
            await self.one_round(devices)

    @property
    def entries(self) -> int:
        return len(self.coordinator.rounds.store.log)


async def played(world: Copied) -> list[Device]:
    """One round, a copy of all machines, three rounds more and another copy."""
    devices = await world.everyone()
    await world.rounds(devices, 1)
    world.copy("older")
    await world.rounds(devices, 3)
    world.copy("newest")
    return devices
