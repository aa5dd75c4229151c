"""The questions of the Lsp tool to a real language server, pylsp."""

import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bobstay.tools.base import Context
from bobstay.tools.builtin.edit import Edit, EditArgs
from bobstay.tools.builtin.lsp import Lsp, LspArgs
from bobstay.tools.builtin.read import Read, ReadArgs
from bobstay.tools.lsp.language_servers import LanguageServers
from bobstay.tools.lsp.server_table import KNOWN_SERVERS, ServerSpec
from tests.kit.tool_context import ledger_of, make_context

SOURCE = """\
def greet(name):
    '''Say hello.'''
    return "hello " + name


print(greet("x"), absent)
"""


@pytest.fixture
async def context(tmp_path: Path) -> AsyncGenerator[Context, None]:
    known = next(spec for spec in KNOWN_SERVERS if spec.name == "pylsp")
    program = os.path.join(os.path.dirname(sys.executable), "pylsp")
    spec = ServerSpec(known.name, (program,), known.languages, known.markers)
    environment = {**os.environ, "HOME": str(tmp_path)}
    # The machine may be busy: an edit waits as long as it takes.
    servers = LanguageServers({".py": spec}, environment, "real-server", edit_seconds=60.0)
    (tmp_path / "a.py").write_text(SOURCE)
    (tmp_path / "b.py").write_text('from a import greet\n\ngreet("b")\n')
    yield make_context(tmp_path, languages=servers)
    await servers.close()


async def ask(context: Context, args: LspArgs) -> str:
    await Lsp().check(args, context)
    return str((await Lsp().run(args, context)).content)


async def test_a_real_server_knows_errors_definitions_references_and_documentation(
    context: Context, tmp_path: Path
) -> None:
    """H1-4"""
    assert "error: undefined name 'absent'" in await ask(context, LspArgs("diagnostics", "a.py"))
    defined = await ask(context, LspArgs("definition", "b.py", 3, "greet"))
    assert defined == f"{tmp_path}/a.py:1:5: def greet(name):"
    used = await ask(context, LspArgs("references", "a.py", 6, "greet"))
    assert f'{tmp_path}/a.py:6:7: print(greet("x"), absent)' in used
    assert f'{tmp_path}/b.py:3:1: greet("b")' in used
    assert "Say hello." in await ask(context, LspArgs("hover", "b.py", 3, column=1))
    assert "function greet (line 1)" in await ask(context, LspArgs("symbols", "a.py"))
    ledger_of(context).learn(await Read().run(ReadArgs("a.py"), context))
    outcome = await Edit().run(EditArgs("a.py", "+ name", "+ missing"), context)
    told = str(outcome.content).partition("finds new errors in the file:\n")[2]
    assert told.startswith(f"{tmp_path}/a.py:3:")
    assert "undefined name 'missing'" in told
    assert "absent" not in told
