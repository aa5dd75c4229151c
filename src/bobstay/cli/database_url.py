"""Where the URL of the console's database comes from. One with a password must not stay on a command line."""

import os
import sys
from urllib.parse import urlsplit

VARIABLE = "BOBSTAY_DB"


def database_url(option: str = "", file: str | None = None) -> str:
    """What `--db` says, else the file of `--db-file`, else the variable, which no program started later finds.

    Raises:
        ValueError: the file cannot be used. The text is for a person.
    """
    inherited = os.environ.pop(VARIABLE, "")
    if file == "":  # a script had nothing to put there: another database than the one that was meant
        raise ValueError("--db-file needs the name of a file.")
    if option or file is None:
        return option or inherited
    try:
        with open(file, encoding="utf-8") as opened:
            found = opened.read(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValueError(f"The file {file} of --db-file cannot be read: {reason}.") from None
    if not found or len(found.split()) != 1:
        raise ValueError(f"The file {file} of --db-file must hold the URL of the database and nothing else.")
    return found


def hide_password(arguments: list[str], url: str) -> None:
    """Start this program anew without the URL on its command line, where all users of the machine can read it."""
    try:
        secret = urlsplit(url).password
    except ValueError:
        return
    if secret and sys.argv[1:2] == ["serve"]:
        os.environ[VARIABLE] = url
        kept = [word for place, word in enumerate(arguments) if not _is_url(arguments, place)]
        os.execv(sys.executable, [sys.executable, "-m", "bobstay", "serve", *kept])  # noqa: S606 - no shell


def _is_url(arguments: list[str], place: int) -> bool:
    word = arguments[place]
    return word == "--db" or word.startswith("--db=") or (place > 0 and arguments[place - 1] == "--db")
