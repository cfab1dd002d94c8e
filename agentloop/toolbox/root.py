"""A folder that cannot be left. Every name is opened relative to the descriptor of its folder, and no link is followed,
so that a path which is swapped for a link while it is walked leads nowhere."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agentloop.errors import ConfigError, ToolError
from agentloop.toolbox.paths import parts_of

__all__ = ["Entry", "Root"]

# `Root.of` refuses systems that lack these flags; importing this module must work there all the same.
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
_FOLDER = _READ | getattr(os, "O_DIRECTORY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """What a folder holds: its parts from the root on, and its `lstat`. `folder` is open while it is looked at."""

    parts: tuple[str, ...]
    info: os.stat_result
    folder: int = field(repr=False)

    @property
    def path(self) -> str:
        return "/".join(self.parts).encode("utf-8", "replace").decode()

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.info.st_mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.info.st_mode)

    @property
    def kind(self) -> str:
        if self.is_folder or self.is_file:
            return "folder" if self.is_folder else "file"
        return "link" if stat.S_ISLNK(self.info.st_mode) else "special file"

    def read(self, limit: int) -> bytes:
        return _read(self.folder, self.parts[-1], limit)


@dataclass(frozen=True, slots=True)
class Root:
    """Files below `path`. All methods raise ToolError with a text for the model."""

    path: Path

    @staticmethod
    def of(path: str | os.PathLike[str]) -> Root:
        """Raises ConfigError for what is no folder, and on systems that cannot open relative to a folder."""
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise ConfigError(
                "the file tools need a system that opens files relative to a folder, as Linux and macOS do"
            )
        resolved = Path(path).resolve()
        if not resolved.is_dir():
            raise ConfigError(f"the root of the file tools is no folder: {resolved}")
        return Root(resolved)

    def read(self, path: str, limit: int) -> tuple[bytes, os.stat_result]:
        """The bytes of a regular file of at most `limit` bytes, and its state when it was read."""
        *folders, name = self._file(path)
        with self._folder(tuple(folders)) as folder, _told(path):
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            return _read(folder, name, limit), info

    def replace(self, path: str, data: bytes, *, as_read: os.stat_result | None = None) -> bool:
        """Write a whole file, which appears at once or not at all; tells whether it is new. Folders on the way are
        made. With `as_read` it must not have changed since."""
        *folders, name = self._file(path)
        with self._folder(tuple(folders), create=True) as folder, _told(path):
            before = _state(folder, name)
            if before is not None and not stat.S_ISREG(before.st_mode):
                raise ToolError(f"{path} is no regular file, so it is not written")
            if before is not None and not before.st_mode & 0o222:
                raise ToolError(f"{path} is read-only")
            if as_read is not None and (before is None or _stamp(before) != _stamp(as_read)):
                raise ToolError(f"{path} was changed by someone else meanwhile: read it again")
            _write(folder, name, data, None if before is None else stat.S_IMODE(before.st_mode) & 0o777)
        return before is None

    def walk(self, path: str, depth: int) -> Iterator[Entry]:
        """What is below a folder, `depth` levels of it, sorted by name; folders before what is in them. Of a file, the
        file itself."""
        parts = parts_of(path)
        with self._folder(parts[:-1]) as folder, _told(path):
            info = _state(folder, parts[-1]) if parts else None
            if info is not None and stat.S_ISREG(info.st_mode):
                yield Entry(parts, info, folder)
                return
        with self._folder(parts) as folder:
            yield from _walk(folder, parts, min(depth, _DEEPEST))

    def _file(self, path: str) -> tuple[str, ...]:
        parts = parts_of(path)
        if not parts:
            raise ToolError("this is the root folder: name a file in it")
        return parts

    @contextlib.contextmanager
    def _folder(self, parts: tuple[str, ...], *, create: bool = False) -> Generator[int]:
        with contextlib.ExitStack() as stack:
            folder = _open(stack, str(self.path), None, ".")
            for place, part in enumerate(parts, 1):
                if create:
                    with contextlib.suppress(FileExistsError), _told("/".join(parts[:place])):
                        os.mkdir(part, dir_fd=folder)
                folder = _open(stack, part, folder, "/".join(parts[:place]))
            yield folder


def _open(stack: contextlib.ExitStack, name: str, folder: int | None, path: str) -> int:
    try:
        opened = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:  # for a link the system says only that it is no folder
        info = _state(folder, name) if folder is not None and error.errno == errno.ENOTDIR else None
        if info is not None and stat.S_ISLNK(info.st_mode):
            error.errno = errno.ELOOP
        raise _told_of(path, error) from None
    stack.callback(os.close, opened)
    return opened


def _walk(folder: int, parts: tuple[str, ...], depth: int) -> Iterator[Entry]:
    with os.scandir(folder) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        info = _state(folder, name)
        if info is None:
            continue
        entry = Entry((*parts, name), info, folder)
        yield entry
        if entry.is_folder and depth > 1:
            with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
                inner = os.open(name, _FOLDER, dir_fd=folder)
                stack.callback(os.close, inner)
                yield from _walk(inner, entry.parts, depth - 1)


def _state(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _stamp(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_size, info.st_mtime_ns


def _read(folder: int, name: str, limit: int) -> bytes:
    """What counts is what was opened; a link is not, and a pipe does not block. Only a device is looked for before,
    since opening it may already do something."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise ToolError(f"{name} is a device, and is not opened")
    opened = os.open(name, _READ, dir_fd=folder)
    try:
        _check(name, os.fstat(opened), limit)
        with os.fdopen(opened, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    finally:
        os.close(opened)
    if len(data) > limit:
        raise ToolError(f"{name} grew past {limit} bytes while it was read")
    return data


def _check(name: str, info: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(info.st_mode):
        raise ToolError(f"{name} is a folder: list it")
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{name} is no regular file, and is not read")
    if info.st_size > limit:
        raise ToolError(f"{name} has {info.st_size} bytes; at most {limit} are read")


def _write(folder: int, name: str, data: bytes, mode: int | None) -> None:
    draft = f".{secrets.token_hex(8)}.draft"
    try:
        with os.fdopen(os.open(draft, _NEW, 0o666, dir_fd=folder), "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=folder)
        raise


@contextlib.contextmanager
def _told(path: str) -> Generator[None]:
    """The system's errors as texts for the model, without the folders outside the root."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise _told_of(path, error) from None


def _told_of(path: str, error: OSError) -> ToolError:
    if error.errno == errno.ELOOP:
        return ToolError(f"{path} is a link, and links are not followed")
    return ToolError(f"{path}: {(error.strerror or 'it cannot be opened').lower()}")
