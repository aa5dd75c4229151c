"""The documentation says what the code does: links lead somewhere, flags are known, examples run as shown."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from bobstay.cli.flag_parser import UsageError, parse_arguments
from bobstay.cli.flags import FLAGS, Flag
from bobstay.cli.main import COMMANDS
from bobstay.config.secret_variables import PROVIDER_VARIABLES, SEARCH_VARIABLES
from bobstay.config.settings import (
    BashSettings,
    LspSettings,
    Permissions,
    SearchSettings,
    Settings,
    Timeouts,
    WorktreeSettings,
)
from bobstay.http.client import HttpClient
from bobstay.model.event import Durable, Ending, MessageDone, ToolDone
from bobstay.model.live_events import Live, TextDelta
from bobstay.model.message import Message, Text
from bobstay.providers.base import Request
from bobstay.server.db.own_tables import OWN
from bobstay.server.db.projected_tables import METADATA
from bobstay.server.streams.stream_frames import NAMES
from bobstay.tools.tool_registry import builtin_entries
from tests.kit.scripted_session import MakeSession
from tests.kit.tool_context import make_context
from tests.modelserver import script
from tests.modelserver.server import ModelServer

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PAGES_OF_CODE = [ROOT / "AGENTS.md", *(ROOT / "docs").glob("*.md")]
"""Not decisions, which name what there was, and instructions, which name what there will be."""
FILES = [
    f"/{path.relative_to(ROOT)}"
    for pattern in (
        "benchmarks/*",
        "scripts/*",
        "scripts/mutants/*",
        "src/**/*",
        "tests/**/*",
        "web/scripts/*",
        "web/src/**/*",
    )
    for path in ROOT.glob(pattern)
]
COMMAND_LINE = (ROOT / "docs/command-line.md").read_text()
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BROKEN_PROGRAM = 'def greet(name):\n    return "Hello, " + nam\n'
PASSING_TEST = 'from greeting import greet\n\nassert greet("world") == "Hello, world"\nprint("ok")\n'


# ---------------------------------------------------------------- links


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the heading each link of a page leads to, inside the project."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" not in target and not target.startswith("mailto:"):
            path, _, heading = target.partition("#")
            yield (page.parent / path if path else page), heading


def headings(page: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_inside_the_documentation_leads_somewhere(page: Path) -> None:
    for target, heading in links(page):
        assert target.exists(), f"{page.name} links to {target}"
        assert not heading or heading in headings(target), f"{page.name} links to #{heading} of {target.name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_table_stands_in_a_table(page: Path) -> None:
    tables = re.findall(r"^(?:\|.*\n)+", FENCE.sub("", page.read_text() + "\n"), re.MULTILINE)
    assert not [table for table in tables if not re.match(r"\|.*\n\|[-:| ]+\|\n", table)]


def test_every_command_is_named_on_the_page_of_the_command_line() -> None:
    assert not [name for name in COMMANDS if f"bobstay {name}" not in COMMAND_LINE]


@pytest.mark.parametrize("page", PAGES_OF_CODE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_of_the_code_that_a_page_names_exists(page: Path) -> None:
    spans = re.findall(r"`([\w/.-]+\.(?:py|mjs|sh|tsx?))`", FENCE.sub("", page.read_text()))
    assert not [span for span in spans if not any(file.endswith(f"/{span}") for file in FILES)]


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {target.resolve() for page in new if page.suffix == ".md" for target, _ in links(page)} - reached
    missing = [str(page.relative_to(ROOT)) for page in PAGES if page.resolve() not in reached]
    assert not missing


# ---------------------------------------------------------------- flags


def named_flags(text: str) -> set[str]:
    """What stands in code spans and looks like a flag."""
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    return {span.split()[0] for span in spans if re.match(r"--?[a-zA-Z]", span)}


def example_of(flag: Flag, name: str) -> list[str]:
    if flag.kind in ("switch", "optional"):
        return [name]
    values = {"integer": "1", "count": "1", "number": "1", "json": "{}"}
    return [name, flag.choices[0] if flag.choices else values.get(flag.convert, "x")]


KNOWN = {name: flag for flag in FLAGS for name in flag.names}
ELSEWHERE = {"--all": "of `bobstay sessions`", "--json": "of `bobstay doctor`"} | dict.fromkeys(
    ("--file", "--keyring", "--stdin", "--test"), "of `bobstay auth login`"
)
ACCEPTED, _, AFTER = COMMAND_LINE.partition("\n## Refused\n")
REFUSED, _, EXIT_CODES = AFTER.partition("\n## Exit codes\n")


@pytest.mark.parametrize("name", sorted(named_flags(ACCEPTED + EXIT_CODES) - {"-pc", "--"} - ELSEWHERE.keys()))
def test_a_flag_of_the_documentation_is_accepted(name: str) -> None:
    assert name in KNOWN
    parse_arguments(example_of(KNOWN[name], name))


@pytest.mark.parametrize("name", sorted(named_flags(REFUSED)))
def test_a_flag_documented_as_refused_is_refused_with_a_reason(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be used: "):
        parse_arguments(example_of(KNOWN[name], name))


def test_every_flag_is_documented_under_all_its_names() -> None:
    """Those hidden from the help too: somebody who passes one wants to know what became of it."""
    documented = named_flags(COMMAND_LINE)
    assert not {name for flag in FLAGS for name in flag.names} - documented


@pytest.mark.parametrize("page", ["README.md", "docs/settings.md", "docs/permissions.md"])
def test_flags_named_on_other_pages_are_known(page: str) -> None:
    assert not named_flags((ROOT / page).read_text()) - KNOWN.keys()


# ---------------------------------------------------------------- settings, events, tools


def test_every_setting_is_documented() -> None:
    spans = set(re.findall(r"`([^`\n]+)`", (ROOT / "docs/settings.md").read_text()))
    spans |= {f"permissions{span}" for span in spans if span.startswith(".")}
    parts: dict[str, type[msgspec.Struct]] = {
        "permissions": Permissions,
        "timeouts": Timeouts,
        "bash": BashSettings,
        "search": SearchSettings,
        "worktree": WorktreeSettings,
        "lsp": LspSettings,
    }
    wanted = {field.encode_name for field in msgspec.structs.fields(Settings)} - parts.keys() - {" extra"}
    wanted |= {f"{key}.{field.encode_name}" for key, part in parts.items() for field in msgspec.structs.fields(part)}
    assert not wanted - spans
    assert not {*PROVIDER_VARIABLES, *SEARCH_VARIABLES} - spans


def tags(union: object) -> set[str]:
    return {str(kind.__struct_config__.tag) for kind in get_args(union)}


def test_every_event_is_named_in_the_python_api() -> None:
    page = (ROOT / "docs/python-api.md").read_text()
    assert not {tag for tag in tags(Live) | tags(Durable) if f"`{tag}`" not in page}
    assert not {ending for ending in get_args(Ending) if f"`{ending}`" not in page}


def test_every_event_that_is_stored_is_named_in_the_description_of_the_log() -> None:
    page = (ROOT / "docs/log-format.md").read_text()
    missing = sorted(tag for tag in tags(Durable) if f"`{tag}`" not in page)
    assert not missing, f"docs/log-format.md does not name {', '.join(missing)}"


def test_every_table_is_named_on_the_page_of_the_database() -> None:
    page = (ROOT / "docs/database.md").read_text()
    assert not [name for name in METADATA.tables if f"`{name}`" not in page]
    assert {table.name for table in OWN} <= METADATA.tables.keys()


def test_the_name_of_every_stored_event_on_a_stream_is_told() -> None:
    page = (ROOT / "docs/streams.md").read_text()
    table = page.partition("| `event.type` | `type` of the frame |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| `([a-z.]+)`", table, re.MULTILINE)
    told = {kind: name for kinds, name in rows for kind in re.findall(r"`([a-z_]+)`", kinds)}
    assert told == {tag: NAMES.get(tag, "raw") for tag in tags(Durable)}


def test_the_readme_lists_the_tools_there_are() -> None:
    listed = re.search(r"the built-in tools \(`([^`]+)`\)", (ROOT / "README.md").read_text())
    assert listed is not None
    assert sorted(listed[1].split()) == [entry.name for entry in builtin_entries()]


# ---------------------------------------------------------------- examples


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project of the examples: a misspelt name, and a test that fails for it."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "greeting.py").write_text(BROKEN_PROGRAM)
    (folder / "test_greeting.py").write_text(PASSING_TEST)
    return folder


def run(command: list[str], project: Path) -> str:
    """What a program prints that finds bobstay on its PATH, and no key of anybody."""
    home = project.parent / "home"
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        command,
        check=False,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def matches(shown: str, printed: str) -> bool:
    """Whether `shown` is what was `printed`: `…` stands for left-out text, alone on a line for left-out lines."""
    pattern = ""
    for line in shown.splitlines():
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.split("…"))) + r"\n"
    return re.fullmatch(pattern, printed) is not None


def test_left_out_text_and_lines_match_and_nothing_else_does() -> None:
    assert matches("a … c\n…\nz\n", "a b c\none\ntwo\nz\n")
    assert not matches("a\nz\n", "a\nb\nz\n")
    assert not matches("a …\n", "b c\n")


def python_examples() -> list[tuple[str, str, str]]:
    """Where an example stands, its code, and what the page says it prints."""
    found: list[tuple[str, str, str]] = []
    for name in ("README.md", "docs/python-api.md"):
        blocks: list[tuple[str, str]] = FENCE.findall((ROOT / name).read_text())
        following = [*blocks[1:], ("", "")]
        pairs = [(code, after) for (kind, code), after in zip(blocks, following, strict=True) if kind == "python"]
        for number, (code, (kind, shown)) in enumerate(pairs, start=1):
            assert kind == "text", f"{name}: example {number} does not show what it prints"
            found.append((f"{name}-{number}", code, shown))
    return found


EXAMPLES = python_examples()


@pytest.mark.parametrize(("code", "shown"), [each[1:] for each in EXAMPLES], ids=[each[0] for each in EXAMPLES])
def test_a_python_example_prints_what_the_page_shows(code: str, shown: str, project: Path) -> None:
    printed = run([sys.executable, "-c", code], project)
    assert matches(shown, printed), printed


TRANSCRIPTS: list[str] = [text for kind, text in FENCE.findall((ROOT / "README.md").read_text()) if kind == "console"]


@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_a_command_of_the_readme_prints_what_it_shows(transcript: str, project: Path) -> None:
    command, _, shown = transcript.removeprefix("$ ").partition("\n")
    printed = run(["bash", "-c", command.replace("bobstay ", f"{sys.executable} -m bobstay ", 1)], project)
    assert matches(shown, printed), printed


async def test_the_example_of_a_new_test_passes(model: ModelServer, make_session: MakeSession) -> None:
    (code,) = [text for kind, text in FENCE.findall((ROOT / "docs/testing.md").read_text()) if kind == "python"]
    names: dict[str, Any] = {
        **vars(script),
        "ModelServer": ModelServer,
        "MakeSession": MakeSession,
        "ToolDone": ToolDone,
    }
    exec(compile(code, "testing.md", "exec"), names)
    await names["test_a_denied_call_is_answered_with_an_error"](model, make_session)


async def test_the_tools_of_the_how_to_work(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/add-a-tool.md").read_text()
    function, built_in = [text for kind, text in FENCE.findall(page) if kind == "python"]
    names: dict[str, Any] = {}
    exec(compile(function, "add-a-tool.md", "exec"), names)
    assert names["count_words"]("one two three") == 3
    exec(compile(built_in, "add-a-tool.md", "exec"), names)
    outcome = await names["Resolve"]().run(names["ResolveArgs"]("127.0.0.1"), make_context(tmp_path))
    assert outcome.content == "127.0.0.1"


async def test_the_adapter_of_the_how_to_works() -> None:
    page = (ROOT / "docs/how-to/add-a-provider.md").read_text()
    (code,) = [text for kind, text in FENCE.findall(page) if kind == "python"]
    names: dict[str, Any] = {}
    exec(compile(code, "add-a-provider.md", "exec"), names)
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n") + await reader.readuntil(b"}"))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.write(b"data: Hel\n\ndata: lo\n\nevent: end\ndata: .\n\n")
        await writer.drain()
        writer.close()

    http = HttpClient()
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        provider = names["Echo"](http, base_url=url, api_key="k")
        request = Request("small", ("Be good.",), (Message("user", (Text("Hello"),)),))
        chunks = [chunk async for chunk in provider.stream(request)]
        await provider.close()
    assert b'{"model":"small","say":"Hello"}' in asked[0]
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == "Hello"
    assert isinstance(chunks[-1], MessageDone)
