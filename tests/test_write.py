"""Writing a fixed file: the old content or the new one, whatever happens, and nothing left beside it."""

from __future__ import annotations

import errno
import os
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from flake8_torchleak.fixing.write import WriteError, replace
from tests.processes import started

OLD = b"\xef\xbb\xbftotal += loss\r\n"
NEW = b"\xef\xbb\xbftotal += loss.detach()\r\n"
ROOT = os.geteuid() == 0
NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """step.py, alone in its folder, holding OLD."""
    path = tmp_path / "step.py"
    path.write_bytes(OLD)
    return path


def refusal(path: Path | str, old: bytes = OLD) -> str:
    """Why `path` is not replaced; its folder must list the same names after as before."""
    folder = os.path.dirname(path)
    before = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    with pytest.raises(WriteError) as caught:
        replace(str(path), old, NEW)
    assert (sorted(os.listdir(folder)) if os.path.isdir(folder) else []) == before
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def raiser(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*arguments: object, **options: object) -> NoReturn:
        raise error

    return fail


# What is kept


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o755, 0o664, 0o606])
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_content_and_mode(file: Path, mode: int, umask: int) -> None:
    file.chmod(mode)
    before = os.umask(umask)
    try:
        replace(str(file), OLD, NEW)
    finally:
        os.umask(before)
    assert file.read_bytes() == NEW
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert os.listdir(file.parent) == ["step.py"]


def test_setuid_is_dropped(file: Path) -> None:
    """As the system does when a user writes to such a file."""
    file.chmod(0o6755)
    replace(str(file), OLD, NEW)
    assert stat.S_IMODE(file.stat().st_mode) == 0o755


@pytest.mark.parametrize("new", [b"", b"x = 0\n" * 1_000_000], ids=["empty", "6 MB"])
def test_any_size(file: Path, new: bytes) -> None:
    replace(str(file), OLD, new)
    assert file.read_bytes() == new


def test_time_is_new(file: Path) -> None:
    # Python takes a .pyc for fresh by the source's time and size.
    os.utime(file, (0, 0))
    replace(str(file), OLD, NEW)
    assert file.stat().st_mtime > 0


def test_no_descriptor_is_left_open(file: Path) -> None:
    def lowest() -> int:
        descriptor = os.open(os.devnull, os.O_RDONLY)
        os.close(descriptor)
        return descriptor

    before = lowest()
    replace(str(file), OLD, NEW)
    refusal(file)
    assert lowest() == before


def test_relative_path(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    replace("step.py", OLD, NEW)
    assert file.read_bytes() == NEW


def test_name_of_full_length(tmp_path: Path) -> None:
    path = tmp_path / ("x" * (os.pathconf(tmp_path, "PC_NAME_MAX") - 3) + ".py")
    path.write_bytes(OLD)
    replace(str(path), OLD, NEW)
    assert path.read_bytes() == NEW


def test_owner_is_kept(file: Path) -> None:
    with suppress(OSError):  # Root may, as a rule; for others there is nothing but their own.
        os.chown(file, 12345, 23456)
    before = file.stat()
    replace(str(file), OLD, NEW)
    after = file.stat()
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)


@pytest.mark.parametrize(
    ("group_too", "mode", "kept"), [(True, 0o664, 0o664), (False, 0o664, 0o644), (False, 0o606, 0o606)]
)
def test_owner_may_not_be_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch, group_too: bool, mode: int, kept: int
) -> None:
    """Somebody else's file: its group if we are in it, else a group that may do no more than everybody."""
    asked = []

    def fchown(descriptor: int, user: int, group: int) -> None:
        asked.append((user, group))
        if user != -1 or not group_too:
            raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", fchown)
    file.chmod(mode)
    status = file.stat()
    replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert asked == [(status.st_uid, status.st_gid), (-1, status.st_gid)]
    assert stat.S_IMODE(file.stat().st_mode) == kept


def access_list(*named: int) -> bytes:
    """What Linux stores for u::rw, g::r, m::rw, o::- and u:NAMED:rw."""
    nobody = 0xFFFFFFFF
    entries = [(1, 6, nobody), *((2, 6, user) for user in named), (4, 4, nobody), (16, 6, nobody), (32, 0, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this platform's Python has no extended attributes")
def test_extended_attributes(file: Path) -> None:
    """Real ones, where the file system of the test's folder has them: the file's own, and not the folder's."""
    try:
        os.setxattr(file, "user.origin", b"here")
        os.setxattr(file, "system.posix_acl_access", access_list(1234))
    except OSError as error:
        pytest.skip(f"the file system does not take them: {error.strerror}")
    plain = file.parent / "plain.py"
    plain.write_bytes(OLD)
    os.setxattr(file.parent, "system.posix_acl_default", access_list(4321))
    for path in (file, plain):
        before = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        mode = path.stat().st_mode
        replace(str(path), OLD, NEW)
        assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == before
        assert path.stat().st_mode == mode


def test_extended_attributes_as_far_as_allowed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []

    def forbidden(*arguments: object) -> None:
        done.append(arguments[1:])
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(
        os, "listxattr", lambda path: ["user.a"] if isinstance(path, str) else ["inherited"], raising=False
    )
    monkeypatch.setattr(os, "getxattr", lambda path, name: b"value", raising=False)
    monkeypatch.setattr(os, "setxattr", forbidden, raising=False)
    monkeypatch.setattr(os, "removexattr", forbidden, raising=False)
    replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert done == [("inherited",), ("user.a", b"value")]


def test_file_system_without_extended_attributes(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unsupported = OSError(errno.ENOTSUP, "Operation not supported")
    monkeypatch.setattr(os, "listxattr", raiser(unsupported), raising=False)
    replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW


def test_platform_with_the_least(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: no owners, no extended attributes, no opening of folders."""
    for name in ("fchown", "fchmod", "listxattr", "setxattr", "getxattr", "removexattr"):
        monkeypatch.delattr(os, name, raising=False)
    real_open = os.open

    def no_folders(path: str, flags: int, mode: int = 0o777) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(path, flags, mode)

    monkeypatch.setattr(os, "open", no_folders)
    replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert os.listdir(file.parent) == ["step.py"]


def test_hard_link_is_cut(file: Path) -> None:
    """The other name is a file that nobody asked to fix."""
    other = file.parent / "other.py"
    os.link(file, other)
    replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW
    assert other.read_bytes() == OLD


def test_order_of_the_steps(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Synced before the rename, or a power cut leaves an empty file; the folder after it. Private till the end."""
    steps = []
    real_fsync, real_replace, real_fchown = os.fsync, os.replace, os.fchown

    def fsync(descriptor: int) -> None:
        status = os.fstat(descriptor)
        steps.append("sync folder" if stat.S_ISDIR(status.st_mode) else f"sync {status.st_size}")
        real_fsync(descriptor)

    def rename(source: str, target: str) -> None:
        steps.append("rename")
        assert os.path.dirname(source) == os.path.dirname(target)
        assert os.path.basename(source).startswith(".torchleak-")
        assert source.endswith(".tmp")
        real_replace(source, target)

    def fchown(descriptor: int, user: int, group: int) -> None:
        steps.append(f"owner of {stat.S_IMODE(os.fstat(descriptor).st_mode):o}")
        real_fchown(descriptor, user, group)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", rename)
    monkeypatch.setattr(os, "fchown", fchown)
    file.chmod(0o644)
    replace(str(file), OLD, NEW)
    assert steps == ["owner of 600", f"sync {len(NEW)}", "rename", "sync folder"]


# Links


@pytest.mark.parametrize("relative", [True, False])
def test_symbolic_links_stay(tmp_path: Path, relative: bool) -> None:
    """A chain of two, from another folder: the temporary file is where the target is."""
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    (real / "step.py").write_bytes(OLD)
    second = links / "second.py"
    second.symlink_to("../real/step.py" if relative else real / "step.py")
    first = links / "first.py"
    first.symlink_to("second.py" if relative else second)
    before = os.readlink(first), os.readlink(second)
    replace(str(first), OLD, NEW)
    assert (os.readlink(first), os.readlink(second)) == before
    assert not (real / "step.py").is_symlink()
    assert (real / "step.py").read_bytes() == NEW
    assert os.listdir(real) == ["step.py"]
    assert sorted(os.listdir(links)) == ["first.py", "second.py"]


def test_folder_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "step.py").write_bytes(OLD)
    (tmp_path / "link").symlink_to("real")
    replace(str(tmp_path / "link" / "step.py"), OLD, NEW)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "step.py").read_bytes() == NEW


def test_link_to_nothing(tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to("nothing.py")
    assert refusal(link) == "is a symbolic link to nothing; left alone"


def test_link_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("b.py")
    (tmp_path / "b.py").symlink_to("a.py")
    assert refusal(tmp_path / "a.py") == f"cannot be written: {os.strerror(errno.ELOOP)}; left alone"


# What is left alone


@pytest.mark.parametrize("meanwhile", [NEW, OLD + b"\n", b""])
def test_changed_meanwhile(file: Path, meanwhile: bytes) -> None:
    file.write_bytes(meanwhile)
    assert refusal(file) == "changed while it was being fixed; left alone"
    assert file.read_bytes() == meanwhile


def test_changed_while_the_new_content_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: file.write_bytes(b"edited"))
    assert refusal(file) == "changed while it was being fixed; left alone"
    assert file.read_bytes() == b"edited"


def test_vanished(file: Path) -> None:
    file.unlink()
    assert refusal(file) == "vanished while it was being fixed"


def test_vanished_while_the_new_content_is_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: file.unlink())
    with pytest.raises(WriteError, match=r"^vanished while it was being fixed$"):
        replace(str(file), OLD, NEW)
    assert os.listdir(file.parent) == []


def test_vanished_with_its_folder(file: Path) -> None:
    shutil.rmtree(file.parent)
    assert refusal(file) == "vanished while it was being fixed"
    assert not file.parent.exists()


def test_folder_is_a_file_now(file: Path) -> None:
    assert refusal(f"{file}/step.py") == f"cannot be written: {os.strerror(errno.ENOTDIR)}; left alone"


def test_read_only(file: Path) -> None:
    """Also for root, who may write any file."""
    file.chmod(0o444)
    assert refusal(file) == "is read-only; left alone"
    assert file.read_bytes() == OLD


def test_read_only_for_us(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's file in a folder of ours: a rename would succeed."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert refusal(file) == "is read-only; left alone"
    assert file.read_bytes() == OLD


def test_read_only_folder() -> None:
    """Outside pytest's own folder, which is its user's alone: root becomes nobody here, and would not get there."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "step.py"
    file.write_bytes(OLD)
    file.chmod(0o666)
    folder.chmod(0o555)
    try:
        if ROOT:
            try:
                os.seteuid(NOBODY)
            except OSError as error:
                pytest.skip(f"root may not become a plain user here: {error}")
        assert refusal(file) == f"cannot be written: {os.strerror(errno.EACCES)}; left alone"
        assert file.read_bytes() == OLD
    finally:
        if ROOT:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_no_regular_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "odd.py")
    assert refusal(tmp_path / "odd.py") == "is not a regular file; left alone"


def test_device() -> None:
    with pytest.raises(WriteError, match=r"^is not a regular file; left alone$"):
        replace(os.devnull, b"", NEW)


# Errors of the system


@pytest.mark.parametrize("step", ["open", "fchmod", "fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EBUSY])
def test_error_at_any_step(file: Path, monkeypatch: pytest.MonkeyPatch, step: str, number: int) -> None:
    monkeypatch.setattr(os, step, raiser(OSError(number, os.strerror(number))))
    assert refusal(file) == f"cannot be written: {os.strerror(number)}; left alone"
    assert file.read_bytes() == OLD


def test_error_without_a_number(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", raiser(OSError("odd")))
    assert refusal(file) == "cannot be written: odd; left alone"


def test_folder_that_cannot_be_synced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is replaced by then."""
    real_fsync = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    replace(str(file), OLD, NEW)
    assert file.read_bytes() == NEW


TRY = """\
import sys
from flake8_torchleak.fixing.write import WriteError, replace
try:
    replace(sys.argv[1], b"x = 0\\n" * 5_000, b"x = 00\\n" * 7_000)
except WriteError as error:
    print(error)
"""
"""Replaces the 30 kB file named by 49 kB."""


def test_full_disk(tmp_path: Path) -> None:
    """A real one, of 64 kB, seen by this process and its children alone (as root or, where allowed, as a user)."""
    alone = ["unshare", "--mount", *([] if ROOT else ["--map-root-user"])]
    mount = 'mount -t tmpfs -o size=64k none "$0"'
    try:
        subprocess.run([*alone, "sh", "-c", mount, tmp_path], check=True, capture_output=True, timeout=600)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"may not mount: {error}")
    check = 'cp "$1" "$0"/step.py && "$2" -c "$3" "$0"/step.py && ls -A "$0" && cmp "$1" "$0"/step.py && echo same'
    source = tmp_path.with_suffix(".py")
    source.write_bytes(b"x = 0\n" * 5_000)
    script = f"{mount} && {check}"
    arguments: list[str | Path] = [*alone, "sh", "-c", script, tmp_path, source, sys.executable, TRY]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout == f"cannot be written: {os.strerror(errno.ENOSPC)}; left alone\nstep.py\nsame\n", done.stderr


def test_file_size_limit(tmp_path: Path) -> None:
    """The system's own refusal in the middle of the content, for any user."""
    path = tmp_path / "step.py"
    path.write_bytes(b"x = 0\n" * 5_000)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, {resource.RLIM_INFINITY}))\n"
    lifted = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({resource.RLIM_INFINITY}, {resource.RLIM_INFINITY}))\n"
    done = subprocess.run(
        [sys.executable, "-c", limit + TRY + lifted, path], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout == f"cannot be written: {os.strerror(errno.EFBIG)}; left alone\n", done.stderr
    assert os.listdir(tmp_path) == ["step.py"]
    assert path.read_bytes() == b"x = 0\n" * 5_000


# Interruptions


@pytest.mark.parametrize("step", ["open", "fchown", "fsync", "replace"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_interrupted_at_any_step(file: Path, monkeypatch: pytest.MonkeyPatch, step: str, moment: str) -> None:
    real = getattr(os, step)

    def interrupted(*arguments: object) -> NoReturn:
        if moment == "after":
            result = real(*arguments)
            if step == "open":
                os.close(result)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace(str(file), OLD, NEW)
    assert os.listdir(file.parent) == ["step.py"]
    assert file.read_bytes() == (NEW if (step, moment) == ("replace", "after") else OLD)


def test_cleaning_up_fails(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first error is the one told."""
    monkeypatch.setattr(os, "unlink", raiser(PermissionError(errno.EACCES, "Permission denied")))
    with pytest.raises(WriteError, match=r"^changed while"):
        replace(str(file), NEW, NEW)
    assert file.read_bytes() == OLD


BUSY = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and what they start, ignore it
from flake8_torchleak.fixing.write import replace
folder, contents = sys.argv[1], [b"x = 0\\n" * 50_000, b"x = 1\\n" * 50_000]
print("ready", flush=True)
while True:
    for name in [f"{number}.py" for number in range(5)]:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            old = file.read()
        replace(path, old, contents[old == contents[0]])
"""
"""Replaces five files of 300 kB again and again, until it is killed."""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_killed_while_writing(tmp_path: Path, number: signal.Signals) -> None:
    """Every file is whole, after each of several random moments; Ctrl-C leaves nothing else."""
    contents = [b"x = 0\n" * 50_000, b"x = 1\n" * 50_000]
    names = [f"{each}.py" for each in range(5)]
    for name in names:
        (tmp_path / name).write_bytes(contents[0])
    moments = random.Random(number)
    cut = 0
    for _ in range(6):
        with started(
            [sys.executable, "-c", BUSY, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(moments.uniform(0.02, 0.08))
            child.send_signal(number)
            child.wait()
        assert [name for name in names if (tmp_path / name).read_bytes() not in contents] == []
        others = set(os.listdir(tmp_path)) - set(names)
        assert all(name.startswith(".torchleak-") and name.endswith(".tmp") for name in others)
        cut += len(others)
        for name in others:
            (tmp_path / name).unlink()
    if number == signal.SIGINT:
        assert cut == 0
