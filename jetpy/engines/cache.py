"""Cache of compiled kernels: folders that other users cannot write to, files with checksums.

Compiled kernels are code: any user who can write to the cache can run code as its reader.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import gettempdir

from platformdirs import user_cache_path

from jetpy.errors import BackendError

VARIABLE = "JETPY_CACHE_DIR"
MOVE = f"set {VARIABLE} to a folder of your own"
_DIGEST_SIZE = hashlib.sha256().digest_size


def cache_dir() -> Path:
    """Return the cache folder: ``$JETPY_CACHE_DIR``, else the platform's default for caches."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else _own_dir()


def _own_dir() -> Path:
    return user_cache_path("jetpy")


def _temporary_dir() -> Path:
    """Return this user's folder among the system's temporary files."""
    return Path(gettempdir(), f"jetpy-{os.geteuid()}")


def cache_dirs() -> list[Path]:
    """Return the folders to search for kernels; new kernels are written to the last.

    The first is `cache_dir`. If it is not writable, the user's default folder follows; if that is
    not writable either, because there is no home directory, a temporary folder of the user follows.
    """
    folders: list[Path] = []
    for folder in dict.fromkeys([cache_dir(), _own_dir()]):
        folders.append(folder)
        if is_writable(folder):
            return folders
    temporary = _temporary_dir()
    return [*folders, temporary] if is_writable(temporary) and _is_mine(temporary) else folders


def prospects() -> str:
    """Return a sentence about where later runs find the kernels compiled now."""
    last = cache_dirs()[-1]
    if not is_writable(last):
        return f"jetpy cannot keep them for later runs, because {last} is not writable; {MOVE}"
    if last == _temporary_dir():
        return f"later runs find them in {last}, because no cache folder is writable; {MOVE}"
    return "later runs find them in its cache"


def _is_mine(folder: Path) -> bool:
    """Return whether a folder belongs to this user or does not exist yet."""
    return not os.path.lexists(folder) or folder.lstat().st_uid == os.geteuid()


def is_writable(folder: Path) -> bool:
    """Return whether files can be created in a folder, or the folder itself if it is missing."""
    existing = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def read_entry(name: Path) -> bytes | None:
    """Return the content of an entry, a path below the cache folders; None without an intact file.

    Raises
    ------
    BackendError
        If other users may have written the file.
    """
    for top in cache_dirs():
        check_trusted(top, name)
        content = intact_content(top / name)
        if content is not None:
            return content
    return None


def write_entry(name: Path, content: bytes) -> None:
    """Write `content` as an entry, atomically.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    top = cache_dirs()[-1]
    make_folders(top, name.parent)
    write_at_once(top / name, _digest(name, content) + content)


def keep_entry(name: Path, content: bytes) -> None:
    """Write `content` as an entry; if that fails, warn once."""
    try:
        write_entry(name, content)
    except OSError as error:
        _complain(str(error))


@cache
def _complain(error: str) -> None:
    logging.getLogger("jetpy").warning(
        "jetpy cannot keep compiled kernels for later runs: %s; %s", error, MOVE
    )


@contextmanager
def one_at_a_time(what: str) -> Iterator[None]:
    """Hold a lock while compiling, so that waiting processes find the entries of the first.

    If the folder or its file system has no locks, no process waits.

    Parameters
    ----------
    what : str
        Kind of compilation; each kind has its own lock.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            top = cache_dirs()[-1]
            _make_folder(top)
            lock = stack.enter_context(open(top / f".{what}.lock", "ab"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def intact_content(path: Path) -> bytes | None:
    """Return the content of an entry's file; None if it is unreadable or fails its checksum."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    digest, content = stored[:_DIGEST_SIZE], stored[_DIGEST_SIZE:]
    return content if digest == _digest(path, content) else None


def _digest(path: Path, content: bytes) -> bytes:
    """Return a checksum of the content and the end of the path."""
    return hashlib.sha256(f"{path.parent.name}/{path.name}/".encode() + content).digest()


def make_folders(top: Path, below: Path) -> None:
    """Create a cache folder and folders below it, if missing."""
    _make_folder(top)
    for folder in [*reversed(below.parents), below]:
        (top / folder).mkdir(mode=0o755, exist_ok=True)


def _make_folder(folder: Path) -> None:
    """Create a cache folder: private if it is the user's own, else not writable by others."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    private = folder in (_own_dir(), _temporary_dir())
    folder.mkdir(mode=0o700 if private else 0o755, exist_ok=True)


def write_at_once(path: Path, content: bytes) -> None:
    """Write a file atomically; only its owner can write to it."""
    temporary = path.with_name(f".{path.name}.{os.urandom(16).hex()}")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with open(file, "wb") as stream:
            stream.write(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_trusted(top: Path, below: Path) -> None:
    """Check that only this user and root can write to a cache folder and the path below it.

    If this user's group can write to it, fix that: close folders to the group, and remove files,
    because they may have been changed already.

    Raises
    ------
    BackendError
        If the owner is neither this user nor root, or other users can write to it.
    """
    for path in _down_to(top, below):
        try:
            status = path.stat()
        except OSError:
            return  # nothing can be loaded from there
        mine = status.st_uid == os.geteuid()
        if not mine and status.st_uid != 0:
            raise BackendError(_refusal(path, f"{_user(status.st_uid)} owns it"))
        if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not mine):
            raise BackendError(_refusal(path, "other users can write to it"))
        if status.st_mode & stat.S_IWGRP:
            try:
                if stat.S_ISDIR(status.st_mode):
                    path.chmod(stat.S_IMODE(status.st_mode) & ~stat.S_IWGRP)
                else:
                    path.unlink()
            except OSError as error:
                raise BackendError(_refusal(path, "other users can write to it")) from error


def _down_to(top: Path, below: Path) -> Iterator[Path]:
    yield top
    for folder in [*reversed(below.parents), below]:
        if folder != Path():
            yield top / folder


def _refusal(path: Path, why: str) -> str:
    return (
        f"jetpy does not load compiled kernels from {path}: {why}, so it could contain malicious "
        f"code; remove it, or {MOVE}"
    )


def _user(uid: int) -> str:
    """Return the name of a user."""
    import pwd

    try:
        return f"user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"user {uid}"
