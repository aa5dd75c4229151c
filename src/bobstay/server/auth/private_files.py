"""Creates folders and files that no other user of this machine can open, guess or create beforehand."""

import contextlib
import os
import secrets
import stat

from bobstay.system.safe_read import NotRegularFile, open_regular

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class NotPrivate(Exception):  # noqa: N818 - reads as what happened
    """A path belongs to another user or has the wrong type. The text says what to do."""


def private_folder(path: str) -> str:
    """Create a folder with mode 0700, or restrict the existing one to it.

    Raises:
        NotPrivate: it belongs to another user, or is not a folder.
        OSError: it cannot be created.
    """
    os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC) if not os.path.islink(path) else -1
    if fd < 0:
        raise NotPrivate(f"{path} is a link. Put a folder of your own there.")
    try:
        found = os.fstat(fd)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise NotPrivate(f"{path} is not a folder of yours. Remove it, or choose another BOBSTAY_HOME.")
        if stat.S_IMODE(found.st_mode) != 0o700:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
    return path


def private_file(path: str) -> None:
    """Ensure that a file exists with mode 0600 before a library opens it, such as that of a database.

    Raises:
        NotPrivate: it belongs to another user, or is not a regular file.
        OSError: it cannot be created.
    """
    try:
        fd = os.open(path, _CREATE, 0o600)
    except FileExistsError:
        if os.path.islink(path):
            raise NotPrivate(f"{path} is a link. Put the file itself there.") from None
        try:
            fd = open_regular(path, follow=False)
        except NotRegularFile:
            raise NotPrivate(_not_yours(path)) from None
    try:
        if os.fstat(fd).st_uid != os.geteuid():
            raise NotPrivate(_not_yours(path))
        os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


def _not_yours(path: str) -> str:
    return f"{path} is not a file of yours. Remove it, or choose another BOBSTAY_HOME."


def new_private_file(folder: str, ending: str = "") -> tuple[int, str]:
    """A new file with an unguessable name and mode 0600 whatever the umask, open for writing."""
    path = os.path.join(folder, secrets.token_hex(16) + ending)
    fd = os.open(path, _CREATE, 0o600)
    os.fchmod(fd, 0o600)
    return fd, path


def opening_page(state: str, address: str) -> str:
    """Write a page that redirects a browser to `address`, because command lines are visible to all users.

    Only this user can read it, since `address` contains a code. The caller removes it once the code is used.
    """
    import html

    fd, path = new_private_file(private_folder(state), ".html")
    shown = html.escape(address, quote=True)
    with os.fdopen(fd, "w", encoding="utf-8") as page:
        page.write('<!doctype html><meta charset="utf-8"><title>bobstay</title>')
        page.write('<meta name="referrer" content="no-referrer">')
        page.write(f'<meta http-equiv="refresh" content="0;url={shown}"><a href="{shown}">Open the console</a>\n')
    return path
