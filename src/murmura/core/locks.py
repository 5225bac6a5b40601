"""One writer at a time in a folder: state folders of machines and devices, run folders of studies.

The lock is the operating system's, on the file `.murmura.lock` in the folder: a process that is killed holds
nothing any more, and worker processes neither need nor inherit it. The file says who holds the lock, and goes
when it is given back. Readers take no lock: every file they read is there completely or not at all. Windows has
no `flock`: there `msvcrt.locking` locks a byte behind the text, as nobody else can read a locked byte.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from murmura.core.errors import RunError

NAME = ".murmura.lock"
OWN = 0o700  # of a folder whose names and sizes are its owner's alone
LONGEST = 200  # bytes of the text that says who


@contextmanager
def locked(folder: Path, mode: int = 0o777) -> Iterator[None]:
    """Have the folder for oneself; refuses one that another command, or this one, is at work in.

    The folder is made with `mode` where there is none, and removed where nothing was put into it.
    """
    made = [folder, *(path for path in folder.parents if not path.exists())]
    handle = _held(folder, mode)
    try:
        with suppress(OSError):  # on a full disk nobody can read who it is; the lock holds all the same
            os.ftruncate(handle, 0)
            os.write(handle, f"process {os.getpid()}, since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC".encode())
        yield
    finally:
        _give_back(handle, folder / NAME)
        with suppress(OSError):  # the system removes no folder with something in it
            for path in made:
                path.rmdir()


def is_empty(folder: Path) -> bool:
    """Whether there is nothing in a folder but its lock."""
    return all(path.name == NAME for path in folder.iterdir())


def _held(folder: Path, mode: int) -> int:
    """The lock's file, with the lock."""
    path = folder / NAME
    while True:
        handle = _open(path, mode)
        if not _take(handle):
            who = os.read(handle, LONGEST).decode(errors="replace") or "it has just begun"
            os.close(handle)
            raise RunError(
                f"{folder} must be used by one command at a time, but another is at work in it ({who}); "
                "wait for it, stop it, or choose another folder."
            )
        if _is_at(handle, path):
            return handle
        os.close(handle)  # its last holder removed it before it was ours


def _open(path: Path, mode: int) -> int:
    try:
        path.parent.mkdir(mode, parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise RunError(
            f"{path.parent} must be a folder that can be written, but is not ({error.strerror}); "
            "choose another."
        ) from None


def _is_at(handle: int, path: Path) -> bool:
    """Whether the file still has its name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        os.lseek(handle, LONGEST, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True

    def _give_back(handle: int, path: Path) -> None:
        os.close(handle)
        with suppress(OSError):  # a file that the next holder has open cannot be removed
            path.unlink()

else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise RunError(
                f"a folder must be on a disk that knows locks, but is not ({error}); choose another."
            ) from None
        return True

    def _give_back(handle: int, path: Path) -> None:
        with suppress(OSError):
            path.unlink()  # while it is held, so that nobody else's is removed
        os.close(handle)
