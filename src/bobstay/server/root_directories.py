"""The directories in which sessions may work: those of the configuration, and those that people added in the page."""

import os

import msgspec

from bobstay.config.paths import Paths
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import AllowedRoots, build_allowed_roots, resolve_allowed
from bobstay.server.server_options import ServerOptions
from bobstay.system.atomic_file import replace_content
from bobstay.system.safe_read import read_regular

NAME = "roots.json"


class RootDirectories:
    def __init__(self, config: ServerOptions, paths: Paths) -> None:
        self._config = config
        self._paths = paths
        self.added = read_roots(config.state)
        """Directories that people added."""

    def allowed(self) -> AllowedRoots:
        return build_allowed_roots(self._config, self._paths, self.added)

    def save_added(self, added: tuple[str, ...]) -> None:
        """Raises `OSError`; nothing is changed then."""
        write_roots(self._config.state, added)
        self.added = added

    def resolve(self, cwd: str) -> str:
        """The real path of a directory a session may work in.

        Raises:
            ApiError: invalid, not_found, forbidden
        """
        return resolve_allowed(os.path.expanduser(cwd), self.allowed())

    def check(self, cwd: str) -> None:
        """Refuse sessions outside the directories of this server, wherever they were created.

        Raises:
            ApiError: forbidden
        """
        try:
            self.resolve(cwd)
        except ApiError as error:
            if error.problem.code == "forbidden":
                raise  # a missing directory is reported when an agent starts there


def read_roots(state: str) -> tuple[str, ...]:
    """The added directories; none if the file cannot be read."""
    try:
        return msgspec.json.decode(read_regular(os.path.join(state, NAME), 1 << 20) or b"", type=tuple[str, ...])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()


def write_roots(state: str, roots: tuple[str, ...]) -> None:
    """Raises `OSError`; the file is then unchanged."""
    replace_content(os.path.join(state, NAME), msgspec.json.encode(roots))
