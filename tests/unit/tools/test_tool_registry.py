"""The tool registry offers the right tools in a fixed order, and imports none before its first use."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.tools.base import Args, Context, Outcome, Tool
from bobstay.tools.entry_points import load_installed_tools
from bobstay.tools.function_tool import tool
from bobstay.tools.tool_registry import ToolRegistry, builtin_entries


class EchoArgs(Args, frozen=True):
    text: str = ""


def made(name: str, description: str = "Says it back.") -> Tool[Any]:
    class Echo(Tool[EchoArgs]):
        args = EchoArgs

        async def run(self, args: EchoArgs, context: Context) -> Outcome:
            return Outcome(args.text)

    Echo.name = name
    Echo.description = description
    return Echo()


def load(**choices: Any) -> ToolRegistry:
    return ToolRegistry.load(entry_points=False, **choices)


def test_built_in_tools_come_first_and_each_group_is_sorted_by_name() -> None:
    """H1-5"""
    registry = load(extra=(made("zebra"), made("Ant")))
    assert registry.names[-2:] == ("Ant", "zebra")
    assert list(registry.names[:-2]) == sorted(registry.names[:-2])
    assert "TodoWrite" in registry.names


def test_the_same_set_of_tools_gives_the_same_bytes_in_whatever_order_it_is_given() -> None:
    """H1-5, F32"""
    one = load(extra=(made("b"), made("a")), base=("WebFetch", "TodoWrite"))
    two = load(extra=(made("a"), made("b")), base=("TodoWrite", "WebFetch"))
    assert msgspec.json.encode(one.specs) == msgspec.json.encode(two.specs)
    assert one.names == ("TodoWrite", "WebFetch", "a", "b")


def test_a_built_in_tool_wins_over_another_of_its_name() -> None:
    """H1-5"""
    registry = load(extra=(made("TodoWrite", "an impostor"), made("twice", "the first"), made("twice", "the second")))
    descriptions = {spec.name: spec.description for spec in registry.specs}
    assert len(descriptions) == len(registry.names)
    assert descriptions["TodoWrite"] != "an impostor"
    assert descriptions["twice"] == "the first"
    assert any("TodoWrite" in warning for warning in registry.warnings)


def test_an_embedder_may_replace_a_built_in_tool_that_is_not_offered() -> None:
    registry = load(base=(), extra=(made("TodoWrite", "mine"),))
    assert [spec.description for spec in registry.specs] == ["mine"]


def test_removed_tools_are_gone_under_every_name() -> None:
    """H1-5"""
    registry = load(removed={"WebFetch", "mine"}, extra=(made("mine"),))
    assert "WebFetch" not in registry.names
    assert registry.get("WebFetch") is None
    assert registry.get("mine") is None


def test_an_empty_base_offers_nothing_built_in() -> None:
    assert load(base=()).names == ()
    assert load(base=(), extra=(made("mine"),)).names == ("mine",)


def test_a_tool_is_offered_only_where_its_need_is_met() -> None:
    for need, name in (("person", "AskUserQuestion"), ("search", "WebSearch")):
        assert name not in load().names
        assert name in load(available={need}).names


def test_the_structured_output_tool_carries_the_schema_of_the_session() -> None:
    """H3-10"""
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    registry = load(schema=schema, base=())
    assert [(spec.name, spec.schema) for spec in registry.specs] == [("StructuredOutput", schema)]
    assert "StructuredOutput" not in load().names


def test_names_are_resolved_exactly_then_without_regard_to_case() -> None:
    registry = load(extra=(made("Probe"), made("probe")))
    exact, other = registry.get("Probe"), registry.get("probe")
    assert exact is not None
    assert other is not None
    assert exact is not other
    assert registry.get("PROBE") is None, "two tools would fit"
    found = registry.get("todowrite")
    assert found is not None
    assert found.name == "TodoWrite"
    assert found is registry.get("TodoWrite"), "one tool object a session"


def test_a_misspelt_name_brings_up_the_right_one() -> None:
    """H2-2"""
    registry = load()
    assert registry.closest_name("TodoWriter") == "TodoWrite"
    assert registry.closest_name("web_fetch") == "WebFetch"
    assert registry.closest_name("x" * 1_000_000) is None
    assert registry.closest_name("") is None


def test_a_name_no_model_would_take_is_refused() -> None:
    for name in ("", "has space", "x" * 129, "naïve"):
        with pytest.raises(ValueError, match="not a valid tool name"):
            load(extra=(made(name),))


def test_loading_imports_no_tool() -> None:
    script = (
        "import sys; from bobstay.tools.tool_registry import ToolRegistry\n"
        "registry = ToolRegistry.load(entry_points=False)\n"
        "loaded = [name for name in sys.modules if name.startswith('bobstay.tools.builtin.')]\n"
        "assert not loaded, loaded\n"
        "heavy = {'jsonschema', 'html.parser', 'difflib', 'PIL', 'importlib.metadata', 'ssl'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert registry.get('TodoWrite') and 'bobstay.tools.builtin.todo_write' in sys.modules\n"
        "assert 'bobstay.tools.builtin.web_fetch' not in sys.modules\n"
    )
    source = str(Path(__file__).parents[3] / "src")
    run = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, env={"PYTHONPATH": source}
    )
    assert run.returncode == 0, run.stderr


def test_the_list_of_built_in_tools_is_sorted() -> None:
    names = [entry.name for entry in builtin_entries()]
    assert names == sorted(names)


# ---------------------------------------------------------------- tools of other packages


def package(folder: Path, module: str, source: str, entry_points: str) -> None:
    (folder / f"{module}.py").write_text(source)
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


GOOD = '''
from bobstay.tools.function_tool import tool

@tool
def {name}(count: int = 1) -> str:
    """Counts."""
    return str(count)
'''


def test_an_installed_package_brings_tools_by_entry_point(site: Path) -> None:
    """H1-3"""
    package(site, "abacus", GOOD.format(name="abacus_count"), "[bobstay.tools]\ncount = abacus:abacus_count\n")
    package(site, "bystander", "raise SystemExit", "[console_scripts]\nx = bystander:main\n")
    registry = ToolRegistry.load()
    assert registry.names[-1] == "abacus_count"
    assert registry.get("abacus_count") is not None
    assert "abacus_count" not in ToolRegistry.load(removed={"abacus_count"}).names
    assert "abacus_count" not in ToolRegistry.load(base=("TodoWrite",)).names
    assert "bystander" not in sys.modules


def test_a_broken_package_is_reported_and_never_fatal(site: Path) -> None:
    package(site, "rotten", "1/0", "[bobstay.tools]\nrot = rotten:thing\n")
    package(site, "notool", "thing = 5", "# nothing\n[bobstay.tools]\nnt = notool:thing [extra]\n[other]\nx = y:z\n")
    package(site, "absent", "", "[bobstay.tools]\ngone = absent:thing\nbad = no.such.module:x\n")
    package(
        site,
        "nameless",
        GOOD.format(name="ok") + "ok.__class__.name = 'bad name'\n",
        "[bobstay.tools]\nn = nameless:ok",
    )
    registry = ToolRegistry.load()
    assert set(registry.names) == set(load().names)
    message = "\n".join(registry.warnings)
    for phrase in ("rot (rotten:thing)", "ZeroDivisionError", "nt (notool:thing)", "gone", "bad", "bad name"):
        assert phrase in message


def test_a_file_of_entry_points_may_hold_anything(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    info = folder / "odd-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_bytes(b"[bobstay.tools]\n\xff\xfe = \0\n====\n[unclosed\n= :\n")
    (folder / "empty-1.0.dist-info").mkdir()
    (folder / "dir-1.0.dist-info" / "entry_points.txt").mkdir(parents=True)
    tools, warnings = load_installed_tools([str(folder), str(tmp_path / "no" / "site-packages"), ""])
    assert tools == ()
    assert len(warnings) == 2


def test_a_function_tool_is_offered_with_its_own_schema() -> None:
    @tool
    def greet(name: str) -> str:
        """Greets."""
        return f"hello {name}"

    (spec,) = load(base=(), extra=(greet,)).specs
    assert spec.name == "greet"
    assert spec.schema["required"] == ["name"]
