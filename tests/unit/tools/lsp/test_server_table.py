"""Which language servers are found where, and which start is asked about."""

from pathlib import Path

import pytest

from bobstay.config.settings import LspServer, LspSettings
from bobstay.permissions.access import Access
from bobstay.tools.base import ToolError
from bobstay.tools.builtin.lsp import Lsp, LspArgs
from bobstay.tools.lsp.language_servers import LanguageServers
from bobstay.tools.lsp.server_table import find_servers
from tests.kit.tool_context import make_context


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_the_first_server_of_a_language_that_is_there_is_used(root: Path, tmp_path: Path) -> None:
    """H1-4"""
    environment = {"PATH": str(tmp_path / "bin")}
    assert find_servers(None, str(root), environment) == {}
    program(tmp_path / "bin/pylsp")
    assert find_servers(None, str(root), environment)[".py"].name == "pylsp"
    program(tmp_path / "bin/pyright-langserver")
    program(tmp_path / "bin/clangd")
    found = find_servers(None, str(root), environment)
    assert found[".py"].command == (f"{tmp_path}/bin/pyright-langserver", "--stdio")
    assert set(found) >= {".py", ".pyi", ".c", ".hpp"}
    assert ".rs" not in found


def test_programs_of_the_project_come_first_and_their_start_is_asked_about(root: Path, tmp_path: Path) -> None:
    """H1-4"""
    program(tmp_path / "bin/pylsp")
    environment = {"PATH": str(tmp_path / "bin")}
    assert not find_servers(None, str(root), environment)[".py"].runs_project
    program(root / ".venv/bin/pylsp")
    found = find_servers(None, str(root), environment)[".py"]
    assert found.command[0] == f"{root}/.venv/bin/pylsp"
    assert found.runs_project


def test_servers_of_the_settings_come_before_the_known_ones(root: Path, tmp_path: Path) -> None:
    """H1-4"""
    program(tmp_path / "bin/pylsp")
    program(tmp_path / "bin/my-server")
    own = LspServer(("my-server", "-x"), {".py": "python", ".zz": "zz"})
    settings = LspSettings(servers={"mine": own, "lost": LspServer(("lost",), {".q": "q"})})
    found = find_servers(settings, str(root), {"PATH": str(tmp_path / "bin")})
    assert found[".py"].name == found[".zz"].name == "mine"
    assert found[".zz"].command == (f"{tmp_path}/bin/my-server", "-x")
    assert found[".zz"].runs_project
    assert ".q" not in found
    assert found[".pyi"].name == "pylsp"
    assert find_servers(LspSettings(enabled=False), str(root), {"PATH": str(tmp_path / "bin")}) == {}


def test_a_server_that_runs_no_code_of_the_project_needs_only_to_read_the_file(root: Path, tmp_path: Path) -> None:
    """H1-4"""
    program(tmp_path / "bin/pylsp")
    program(tmp_path / "bin/gopls")
    environment = {"PATH": str(tmp_path / "bin")}
    servers = LanguageServers(find_servers(None, str(root), environment), environment, "s")
    context = make_context(root, languages=servers)
    assert Lsp().access(LspArgs("symbols", "a.py"), context) == (Access("read", f"{root}/a.py"),)
    assert Lsp().access(LspArgs("symbols", "a.go"), context) == (
        Access("read", f"{root}/a.go"),
        Access("exec", f"{tmp_path}/bin/gopls"),
    )
    assert Lsp().read_only(LspArgs("symbols", "a.py"), context)


async def test_what_cannot_be_asked_says_why(root: Path, tmp_path: Path) -> None:
    """H1-4"""
    program(tmp_path / "bin/gopls")
    servers = LanguageServers(find_servers(None, str(root), {"PATH": str(tmp_path / "bin")}), {}, "s")
    context = make_context(root, languages=servers)
    with pytest.raises(ToolError, match=r"No language server for a\.py was found.*servers for \.go"):
        await Lsp().check(LspArgs("diagnostics", "a.py"), context)
    with pytest.raises(ToolError, match="hover needs the line, and the symbol or its column"):
        await Lsp().check(LspArgs("hover", "a.go", 3), context)
    with pytest.raises(ToolError, match=r"a\.go does not exist"):
        await Lsp().run(LspArgs("diagnostics", "a.go"), context)
