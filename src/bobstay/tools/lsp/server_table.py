"""The language servers that are known, and which of them this machine has."""

import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bobstay.config.settings import LspSettings
from bobstay.system.child_process import find_program


class ServerSpec(Struct, frozen=True):
    """How a language server is started, and for which files."""

    name: str
    command: tuple[str, ...]
    languages: dict[str, str]
    """File name endings, and the protocol's name of the language."""
    markers: tuple[str, ...] = ()
    """Files at the top of a project."""
    options: dict[str, Any] = {}
    """Its `initializationOptions`."""
    runs_project: bool = False
    """It may run programs that the project names, so its start is asked about."""


_PYTHON = {".py": "python", ".pyi": "python"}
_PYTHON_TOP = ("pyproject.toml", "setup.py", "setup.cfg", "pyrightconfig.json")
_SCRIPT = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
}
_C = {
    ".c": "c",
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"), "cpp"),
}
_RUST_OPTIONS = {
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
    "checkOnSave": False,
}
"""Build scripts, macros and cargo are code of the project, which a question about code does not run."""

KNOWN_SERVERS = (
    ServerSpec("basedpyright", ("basedpyright-langserver", "--stdio"), _PYTHON, _PYTHON_TOP),
    ServerSpec("pyright", ("pyright-langserver", "--stdio"), _PYTHON, _PYTHON_TOP),
    ServerSpec("pylsp", ("pylsp",), _PYTHON, _PYTHON_TOP),
    ServerSpec(
        "typescript",
        ("typescript-language-server", "--stdio"),
        _SCRIPT,
        ("tsconfig.json", "jsconfig.json", "package.json"),
        runs_project=True,
    ),
    ServerSpec("gopls", ("gopls",), {".go": "go"}, ("go.work", "go.mod"), runs_project=True),
    ServerSpec("rust-analyzer", ("rust-analyzer",), {".rs": "rust"}, ("Cargo.toml",), _RUST_OPTIONS),
    ServerSpec("clangd", ("clangd",), _C, ("compile_commands.json", "compile_flags.txt", ".clangd")),
)
"""Of several for one language, the first that is found is used."""
PROJECT_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")


def find_servers(settings: LspSettings | None, root: str, environment: Mapping[str, str]) -> dict[str, ServerSpec]:
    """The servers this machine has, by file name ending. Only for trusted folders: programs of the folder count too.

    Those of the settings come first.
    """
    if settings is not None and settings.enabled is False:
        return {}
    own = [os.path.join(root, folder) for folder in PROJECT_PROGRAMS]
    path = os.pathsep.join((*own, environment.get("PATH", "")))
    found: dict[str, ServerSpec] = {}
    for spec in (*_configured(settings), *KNOWN_SERVERS):
        if all(ending in found for ending in spec.languages):
            continue
        program = (
            find_program(spec.command[0], path) if "/" not in spec.command[0] else _absolute(spec.command[0], root)
        )
        if not program:
            continue
        inside = os.path.realpath(program).startswith(os.path.realpath(root).rstrip("/") + "/")
        located = ServerSpec(
            spec.name,
            (program, *spec.command[1:]),
            spec.languages,
            spec.markers,
            spec.options,
            spec.runs_project or inside,
        )
        for ending in spec.languages:
            found.setdefault(ending, located)
    return found


def _configured(settings: LspSettings | None) -> list[ServerSpec]:
    if settings is None:
        return []
    return [
        ServerSpec(name, server.command, server.languages, server.root_markers, server.options, runs_project=True)
        for name, server in settings.servers.items()
        if server.command
    ]


def _absolute(program: str, root: str) -> str:
    path = os.path.join(root, program)
    return path if os.path.isfile(path) and os.access(path, os.X_OK) else ""
