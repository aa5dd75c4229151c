"""The script of the offline demo model: a generator that is sent the replies of each step."""

import re
import shlex
from collections.abc import Generator
from typing import Any, TypeAlias

from msgspec import Struct

from bobstay.model.message import ToolReply

INTRODUCTION = (
    "I am the offline demo model of bobstay: a fixed script without any intelligence. I need no key and no network. "
    "What you see around me is real: the tools, the permissions and the session log."
)

_WANTS_WORK = re.compile(r"\b(fix|repair|make|mend|debug|correct|failing|test|tests|bug)\b", re.IGNORECASE)
_SLIP = re.compile(r"^.*\bnam\b(?!e).*$", re.MULTILINE)
_LINE_NUMBER = re.compile(r"^\s*\d+(?:\t|→|\| ?|: )", re.MULTILINE)
_READABLE = (".md", ".txt", ".py", ".toml", ".json", ".js", ".ts", ".go", ".rs", ".c", ".html", ".css", ".yaml", ".yml")
_TEST = "python3 test_greeting.py"


class DemoCall(Struct, frozen=True):
    """A tool call of the script."""

    tool: str
    input: dict[str, Any]


class DemoStep(Struct, frozen=True):
    """One message of the model. A step without calls is the last."""

    text: str
    calls: tuple[DemoCall, ...] = ()


Replies: TypeAlias = tuple[ToolReply, ...]
DemoScript: TypeAlias = Generator[DemoStep, Replies, None]


def play_script(prompt: str, tools: frozenset[str], *, first: bool) -> DemoScript:
    """Play one turn. `first` is whether this is the first turn; `tools` are the names of the offered tools."""
    opening = f"{INTRODUCTION}\n\n" if first else ""
    if "Glob" not in tools or "Read" not in tools:
        yield DemoStep(
            f"{opening}You said: {_quote_prompt(prompt)}\n\nI was given no tools to look around with, so this is all."
        )
        return
    if re.fullmatch(r"\s*(hello|hi|hey|good (morning|day|evening))\b[\s!.,]*", prompt, re.IGNORECASE):
        yield DemoStep(f"{opening}Hello! Ask me anything and I will look around here, as far as a script can.")
        return
    found = yield DemoStep(f"{opening}I will see which files are here.", (DemoCall("Glob", {"pattern": "**/*"}),))
    if _has_failed(found):
        yield DemoStep(f"I could not list the files ({_failure_reason(found)}), so I stop here. Nothing was changed.")
        return
    paths = _parse_paths(found[0].text)
    program = _find_file(paths, "greeting.py")
    test = _find_file(paths, "test_greeting.py")
    if _WANTS_WORK.search(prompt) and program and test:
        yield from _repair(program, test, _test_command(test, paths), tools)
    else:
        yield from _look_around(prompt, paths, tools)


def _look_around(prompt: str, paths: list[str], tools: frozenset[str]) -> DemoScript:
    chosen = _most_readable(paths)
    if chosen is None:
        yield DemoStep(f"There is no text file here that I could read. You said: {_quote_prompt(prompt)}\n\n{_ADVICE}")
        return
    plan = ("List the files", f"Read {_file_name(chosen)}", "Say what I saw")
    read = yield DemoStep(
        f"There {_count_files(len(paths))}. I will read `{_file_name(chosen)}`.",
        (*_todo_calls(tools, plan, done=1), DemoCall("Read", {"file_path": chosen, "limit": 40})),
    )
    if _has_failed(read[-1:]):
        yield DemoStep(
            f"I could not read `{_file_name(chosen)}`: {_failure_reason(read[-1:])}. Nothing was changed.\n\n{_ADVICE}"
        )
        return
    todo = _todo_calls(tools, plan, done=3)
    if todo:
        yield DemoStep("", todo)
    lines = [line for line in _strip_line_numbers(read[-1].text).splitlines() if line.strip()]
    begins = f" It begins: `{lines[0].strip()[:80]}`." if lines else ""
    yield DemoStep(f"I read `{_file_name(chosen)}`.{begins} You said: {_quote_prompt(prompt)}\n\n{_ADVICE}")


def _repair(program: str, test: str, command: str, tools: frozenset[str]) -> DemoScript:
    plan = ("Read the test and the program", "See the test fail", "Correct the program", "See the test pass")
    read = yield DemoStep(
        "I will read the test and the program it tests.",
        (
            *_todo_calls(tools, plan, done=0),
            DemoCall("Read", {"file_path": test}),
            DemoCall("Read", {"file_path": program}),
        ),
    )
    if _has_failed(read[-2:]):
        yield DemoStep(f"I could not read them: {_failure_reason(read[-2:])}. Nothing was changed.")
        return
    ran = "Bash" in tools
    if ran:
        before = yield DemoStep(
            "Now the test, to see it fail.", (_bash_call(command, "Run the test before the change"),)
        )
        ran = not _is_refused(before)
    slip = _SLIP.search(_strip_line_numbers(read[-1].text))
    if slip is None or "Edit" not in tools:
        yield DemoStep("The program does not have the mistake my script knows how to correct, so I leave it as it is.")
        return
    wrong = slip[0]
    edited = yield DemoStep(
        "`greet` uses `nam`, a name that does not exist; its argument is called `name`. I will correct that.",
        (
            *_todo_calls(tools, plan, done=2),
            DemoCall(
                "Edit", {"file_path": program, "old_string": wrong, "new_string": re.sub(r"\bnam\b", "name", wrong)}
            ),
        ),
    )
    if _has_failed(edited[-1:]):
        yield DemoStep(
            f"The change was not made: {_failure_reason(edited[-1:])}. `{_file_name(program)}` is as it was."
        )
        return
    if not ran:
        yield DemoStep(
            f"I corrected `{_file_name(program)}`. I was not allowed to run the test, so nobody has seen it pass: "
            f"run `{_TEST}` yourself."
        )
        return
    after = yield DemoStep("And the test again.", (_bash_call(command, "Run the test after the change"),))
    passed = not _has_failed(after)
    if passed and (todo := _todo_calls(tools, plan, done=4)):
        yield DemoStep("", todo)
    name = _file_name(program)
    yield DemoStep(
        f"Done. `{name}` used `nam` where it meant `name`; I corrected that word, and `{_TEST}` passes now."
        if passed
        else f"I corrected the name in `{name}`, but the test does not pass: {_failure_reason(after)}"
    )


_ADVICE = (
    "That is all a script can do. For real work give bobstay a model: set a key such as ANTHROPIC_API_KEY, or point it "
    "at a local server."
)


def _test_command(test: str, paths: list[str]) -> str:
    folder = test.rpartition("/")[0]
    if all(path.startswith(folder) for path in paths):
        return _TEST
    return f"cd {shlex.quote(folder)} && {_TEST}"


def _bash_call(command: str, description: str) -> DemoCall:
    return DemoCall("Bash", {"command": command, "description": description})


def _todo_calls(tools: frozenset[str], plan: tuple[str, ...], *, done: int) -> tuple[DemoCall, ...]:
    if "TodoWrite" not in tools:
        return ()
    rows = [
        {
            "content": content,
            "status": "completed" if index < done else "in_progress" if index == done else "pending",
            "activeForm": content,
        }
        for index, content in enumerate(plan)
    ]
    return (DemoCall("TodoWrite", {"todos": rows}),)


def _has_failed(replies: Replies) -> bool:
    return not replies or any(reply.is_error for reply in replies)


def _is_refused(replies: Replies) -> bool:
    """Whether a command was not run at all: one that ran and failed left an exit code or a traceback."""
    text = "".join(reply.text for reply in replies)
    return _has_failed(replies) and "Exit code" not in text and "Traceback" not in text


def _failure_reason(replies: Replies) -> str:
    text = next((reply.text for reply in replies if reply.is_error), "there was no answer")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200].rstrip(".") if lines else "no reason was given"


def _parse_paths(listing: str) -> list[str]:
    """Return the lines of a file listing that are paths, without notes."""
    lines = (line.strip() for line in listing.splitlines() if "/.git/" not in line)
    return [
        line for line in lines if line and not line.startswith(("(", "[", "No ")) and "." in line.rsplit("/", 1)[-1]
    ]


def _find_file(paths: list[str], name: str) -> str | None:
    """Return the shortest path of a file called `name`."""
    return min((path for path in paths if _file_name(path) == name), key=len, default=None)


def _most_readable(paths: list[str]) -> str | None:
    ranked = [
        (not _file_name(path).lower().startswith("readme"), _READABLE.index(ending), path.count("/"), path)
        for path in paths
        if (ending := "." + path.rpartition(".")[2].lower()) in _READABLE
    ]
    return min(ranked)[-1] if ranked else None


def _strip_line_numbers(text: str) -> str:
    """Return the content of a file without line numbers."""
    return _LINE_NUMBER.sub("", text)


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _count_files(number: int) -> str:
    return "is one file here" if number == 1 else f"are {number} files here"


def _quote_prompt(prompt: str) -> str:
    text = " ".join(prompt.split())
    return f"“{text[:120]}{'…' if len(text) > 120 else ''}”"
