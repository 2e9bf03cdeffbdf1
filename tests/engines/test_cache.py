"""The cache of compiled kernels: ownership, damaged entries, folders for new code."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jetpy.engines import cache
from jetpy.engines.cache import one_at_a_time
from jetpy.engines.cpu import compiling
from jetpy.engines.workers import watch_compilations
from jetpy.errors import BackendError
from jetpy.kernel_language import Width
from tests.children import run_in_child
from tests.modules import Load

NOBODY = 65534
NAME = Path("cpu", "0123", "kernel")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set the cache folder and the user's own folder by environment variables."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("JETPY_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_of_the_user_is_private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_entry(NAME, b"code")
    monkeypatch.delenv("JETPY_CACHE_DIR")
    cache.write_entry(NAME, b"code")
    assert mode(folder) == 0o755
    assert mode(cache.cache_dir()) == 0o700


def test_new_entries_are_not_writable_by_others(folder: Path) -> None:
    before = os.umask(0)
    try:
        cache.write_entry(NAME, b"code")
    finally:
        os.umask(before)
    made = [folder, *folder.rglob("*")]
    assert [mode(path) & 0o022 for path in made] == [0] * 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:10],
        lambda whole: whole[:-1],
        lambda whole: whole + b" ",
        lambda whole: bytes(reversed(whole)),
        lambda whole: b"\x00" * len(whole),
    ],
    ids=["emptied", "cut short", "one byte less", "one byte more", "reversed", "zeros"],
)
def test_damaged_entries_are_ignored(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    cache.write_entry(NAME, b"code")
    assert cache.read_entry(NAME) == b"code"
    path = folder / NAME
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read_entry(NAME) is None
    cache.write_entry(NAME, b"code")
    assert cache.read_entry(NAME) == b"code"


def test_renamed_entries_are_ignored(folder: Path) -> None:
    cache.write_entry(NAME, b"code")
    for other in (NAME.with_name("other"), NAME.parent.with_name("4567") / NAME.name):
        (folder / other).parent.mkdir(exist_ok=True)
        (folder / other).write_bytes((folder / NAME).read_bytes())
        assert cache.read_entry(other) is None
    (folder / "cpu" / "0123" / "folder").mkdir()
    assert cache.read_entry(NAME.with_name("folder")) is None


def test_new_kernels_go_to_the_users_folder_if_the_set_one_is_read_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_entry(NAME, b"administrator's")
    own = cache._own_dir()
    monkeypatch.setattr(cache, "is_writable", lambda path: path == own)
    assert cache.cache_dirs() == [folder, own]
    assert cache.read_entry(NAME) == b"administrator's"
    assert not own.exists()
    other = NAME.with_name("other")
    cache.write_entry(other, b"own")
    assert cache.read_entry(other) == b"own"
    assert not (folder / other).exists()


# Whose code is loaded


PLACES = [Path(), Path("cpu"), NAME.parent, NAME]


def test_group_writable_file_is_removed(folder: Path) -> None:
    cache.write_entry(NAME, b"code")
    (folder / NAME).chmod(0o664)
    assert cache.read_entry(NAME) is None
    assert not (folder / NAME).exists()


@pytest.mark.parametrize("place", PLACES[:-1], ids=str)
def test_group_writable_folder_is_repaired(folder: Path, place: Path) -> None:
    cache.write_entry(NAME, b"code")
    before = mode(folder / place)
    (folder / place).chmod(before | 0o020)
    assert cache.read_entry(NAME) == b"code"
    assert mode(folder / place) == before


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_world_writable_cache_is_refused(folder: Path, place: Path) -> None:
    cache.write_entry(NAME, b"code")
    (folder / place).chmod(0o777)
    with pytest.raises(BackendError, match="other users can write to it") as caught:
        cache.read_entry(NAME)
    assert str(folder / place) in str(caught.value)
    assert "set JETPY_CACHE_DIR to a folder of your own" in str(caught.value)


@pytest.mark.parametrize(
    ("owner", "bits", "words"),
    [
        ("me", 0o755, None),
        ("root", 0o755, None),
        ("root", 0o775, "other users can write to it"),
        ("root", 0o757, "other users can write to it"),
        ("another", 0o755, "user 4242 owns it"),
        ("another", 0o700, "user 4242 owns it"),
    ],
)
def test_owner_must_be_the_user_or_root(
    folder: Path, owner: str, bits: int, words: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_entry(NAME, b"code")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    uid = {"me": 1000, "root": 0, "another": 4242}[owner]
    found = os.stat_result((bits | stat.S_IFDIR, 0, 0, 1, uid, 0, 0, 0, 0, 0))
    monkeypatch.setattr(Path, "stat", lambda path, **_: found)
    if words is None:
        assert cache.read_entry(NAME) == b"code"
    else:
        with pytest.raises(BackendError, match=words):
            cache.read_entry(NAME)


def test_unrepairable_folder_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_entry(NAME, b"code")
    folder.chmod(0o775)

    def refuse(path: Path, bits: int) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(BackendError, match="other users can write to it"):
        cache.read_entry(NAME)


# Two users


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a folder that root owns and every user can enter."""
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_nobody(work: Callable[[], None]) -> None:
    """Run `work` in a child process of the user nobody."""

    def become_nobody_and_work() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        work()

    run_in_child(become_nobody_and_work)


def test_users_read_the_read_only_cache_of_root(
    shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(shared / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(shared / "home"))
    (shared / "home").mkdir()
    os.chown(shared / "home", NOBODY, NOBODY)
    cache.write_entry(NAME, b"root's")

    def user() -> None:
        assert cache.read_entry(NAME) == b"root's"
        assert not cache._own_dir().exists()
        cache.write_entry(NAME.with_name("other"), b"nobody's")
        assert cache.read_entry(NAME.with_name("other")) == b"nobody's"
        assert mode(cache._own_dir()) == 0o700

    as_nobody(user)
    (shared / "cache").chmod(0o775)
    as_nobody(lambda: refused("other users can write to it"))


def test_cache_of_another_user_is_not_loaded(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JETPY_CACHE_DIR", str(shared / "cache"))
    shared.chmod(0o777)
    as_nobody(lambda: cache.write_entry(NAME, b"nobody's"))
    refused("user nobody owns it|user 65534 owns it")
    os.chown(shared / "cache", 0, 0)
    refused("owns it")  # its content still belongs to nobody


def refused(words: str) -> None:
    with pytest.raises(BackendError, match=words):
        cache.read_entry(NAME)


WAITING = """
import sys
from jetpy.engines.cache import one_at_a_time
with one_at_a_time(sys.argv[1]):
    print("in", flush=True)
"""


def _takes(what: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WAITING, what]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_compile_one_at_a_time(folder: Path) -> None:
    with one_at_a_time("one"):
        waiting = _takes("one")
        assert _takes("another").communicate()[0] == "in\n"
        assert waiting.poll() is None
    assert waiting.communicate()[0] == "in\n"


def test_missing_folder_is_not_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(cache, "cache_dirs", lambda: [tmp_path / "file" / "folder"])
    with one_at_a_time("one"), one_at_a_time("one"):
        pass


def test_kernels_compiled_by_another_process_meanwhile_are_loaded(
    load: Load, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache is empty at the first look and full after waiting."""
    text = "@pk.workunit\ndef put(i: int, out: pk.View1D[pk.int32]):\n    out[i] = 7\n"
    module = load(text)
    compiling.code_of(module, Width.NARROW)
    looks = []

    def look(name: Path) -> bytes | None:
        looks.append(name)
        return cache.read_entry(name) if len(looks) > 1 else None

    monkeypatch.setattr(compiling, "read_entry", look)
    compiling._code_of.cache_clear()  # as in a new process
    with watch_compilations() as seen:
        compiling.code_of(module, Width.NARROW)
    assert (len(looks), seen) == (2, [])


# Where no cache folder can be written to


@pytest.fixture
def without_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the user's cache folder impossible; temporary files go to `tmp_path`."""
    (tmp_path / "file").touch()
    monkeypatch.delenv("JETPY_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.setattr(cache, "gettempdir", lambda: str(tmp_path))


def test_cache_without_a_home_is_a_temporary_folder(without_home: None, tmp_path: Path) -> None:
    cache.write_entry(NAME, b"code")
    assert cache.read_entry(NAME) == b"code"
    own = cache.cache_dirs()[-1]
    assert (own.parent, mode(own)) == (tmp_path, 0o700)
    assert cache.prospects().startswith(f"later runs find them in {own}, because no cache folder")


def test_temporary_folder_of_another_user_is_not_used(
    without_home: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    (tmp_path / "jetpy-4242").mkdir()
    assert cache.cache_dirs() == [cache._own_dir()]
    assert cache.prospects().startswith("jetpy cannot keep them for later runs, because ")


def test_prospects_with_a_writable_cache(folder: Path) -> None:
    assert cache.prospects() == "later runs find them in its cache"
