"""Grep: search in files with ripgrep."""

import asyncio
import os
import re
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.file_tree import (
    find_denied,
    is_directory,
    parse_names,
    relative_path,
    resolve_search_path,
    sort_newest_first,
)
from bobstay.tools.files.tool_path import absolute_path
from bobstay.tools.ripgrep import RipgrepResult, run_ripgrep

_PAGE = 250
_COLUMNS = 500
_Lines = Annotated[int, Meta(ge=0, le=100_000)]


class GrepArgs(Args, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=10_000, description="A regular expression in the syntax of ripgrep")
    ]
    path: Annotated[str, Meta(description="File or directory to search in; the working directory unless given")] = ""
    glob: Annotated[str, Meta(description="Only files that fit, such as *.js or src/**/*.{ts,tsx}")] = ""
    type: Annotated[str, Meta(description="Only files of this type, by ripgrep's names: py, js, rust, go, java")] = ""
    output_mode: Annotated[
        Literal["files_with_matches", "content", "count"],
        Meta(description="Paths of files that match (unless given), the matching lines, or how many there are"),
    ] = "files_with_matches"
    before: Annotated[_Lines, Meta(description="Lines shown before each match; with content only")] = field(
        name="-B", default=0
    )
    after: Annotated[_Lines, Meta(description="Lines shown after each match; with content only")] = field(
        name="-A", default=0
    )
    around: Annotated[_Lines, Meta(description="Lines shown before and after each match; with content only")] = field(
        name="-C", default=0
    )
    numbers: Annotated[bool, Meta(description="Show line numbers; with content only")] = field(name="-n", default=True)
    ignore_case: Annotated[bool, Meta(description="Ignore case")] = field(name="-i", default=False)
    multiline: Annotated[bool, Meta(description="Let a match span lines, and . match the end of a line")] = False
    head_limit: Annotated[
        int, Meta(ge=0, description="How many lines, files or counts to give: 250 unless given, 0 for all")
    ] = _PAGE
    offset: Annotated[int, Meta(ge=0, description="How many to skip first, to see the next page")] = 0


class Grep(Tool[GrepArgs]):
    name = "Grep"
    hint = "search file contents, regular expression, ripgrep, find text"
    description = """\
Search in files with ripgrep. Always use this rather than grep or rg in the shell.

- The pattern is a regular expression: `log.*Error`, `def\\s+\\w+`. Escape braces that are meant as such: \
`interface\\{\\}`. There is no look-around.
- Narrow the search by `path`, by `glob` (*.js, **/*.tsx) or by `type` (py, rust).
- `output_mode`: files_with_matches gives paths, content gives lines (with -A, -B, -C for those around), count gives \
numbers of matches.
- A pattern matches within one line unless `multiline` is set.
- Files that .gitignore names are left out; hidden files are not."""
    args = GrepArgs

    def read_only(self, args: GrepArgs, context: Context) -> bool:
        return True

    def access(self, args: GrepArgs, context: Context) -> tuple[Access, ...]:
        return (Access("read", absolute_path(args.path, context) if args.path else str(context.cwd)),)

    def claims(self, args: GrepArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("*", shared=True),)

    async def run(self, args: GrepArgs, context: Context) -> Outcome:
        if "\0" in args.pattern + args.glob + args.type:
            raise ToolError("The search contains a NUL character. Leave it out, or write it as \\x00 in the pattern.")
        search_path = resolve_search_path(args.path, context)
        whole_tree = is_directory(search_path)
        directory = search_path if whole_tree else os.path.dirname(search_path)
        arguments = _arguments(args, "." if whole_tree else f"./{os.path.basename(search_path)}")
        search = run_ripgrep(arguments, context, cwd=directory)
        allowed = None
        if whole_tree and any(not glob.startswith("!") for glob in _globs(args.glob)):
            # a glob makes ripgrep include ignored files: keep only those a plain listing has too
            result, every = await asyncio.gather(search, run_ripgrep(["--files", "--null"], context, cwd=directory))
            allowed = set(parse_names(every))
        else:
            result = await search
        if result.error:
            raise ToolError(_explain(result.error))
        outcome = await asyncio.to_thread(_answer, args, result, allowed, directory, context)
        if allowed is None or outcome.display["numFiles"]:
            return outcome
        return replace(outcome, content=f"{outcome.content}{await _describe_ignored(args, directory, context)}")


class _Page(Struct):
    """The results shown, as one page."""

    items: list[str]
    total: int
    note: str


def _arguments(args: GrepArgs, search_path: str) -> list[str]:
    arguments = ["--null", "--with-filename", "--no-heading", f"--max-columns={_COLUMNS}", "--max-columns-preview"]
    if args.output_mode == "files_with_matches":
        arguments.append("--files-with-matches")
    elif args.output_mode == "count":
        arguments.append("--count-matches")
    else:
        arguments.append("--line-number")  # even if not shown: it distinguishes matches from context lines
        arguments += [f"--before-context={args.before or args.around}", f"--after-context={args.after or args.around}"]
    if args.ignore_case:
        arguments.append("--ignore-case")
    if args.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    if args.type:
        arguments.append(f"--type={args.type}")
    arguments += [f"--glob={glob}" for glob in _globs(args.glob)]
    return [*arguments, f"--regexp={args.pattern}", "--", search_path]


async def _describe_ignored(args: GrepArgs, directory: str, context: Context) -> str:
    """A note on files that match the glob and the pattern but are ignored by .gitignore."""
    arguments = _arguments(replace(args, output_mode="files_with_matches"), ".")
    result = await run_ripgrep(["--no-ignore", *arguments], context, cwd=directory)
    names = set(parse_names(result))
    names -= find_denied(names, directory, context)
    if not names:
        return ""
    example = relative_path(os.path.join(directory, min(names).decode("utf-8", "replace")), context)
    return (
        f"\n({len(names):,} matching {'file was' if len(names) == 1 else 'files were'} left out because .gitignore "
        f"names them, such as {example}. To search there, give the directory as `path`.)"
    )


def _globs(text: str) -> list[str]:
    """Split several globs at spaces and commas outside braces."""
    return re.findall(r"(?:\{[^}]*\}|[^\s,{])+", text) or ([text] if text.strip() else [])


def _answer(
    args: GrepArgs, result: RipgrepResult, allowed: set[bytes] | None, directory: str, context: Context
) -> Outcome:
    early = [] if result.complete else ["(The search was ended early: there is more. Use a narrower path or pattern.)"]
    if args.output_mode == "files_with_matches":
        names = [name for name in parse_names(result) if allowed is None or name in allowed]
        denied = find_denied(names, directory, context)
        names = [name for name in names if name not in denied]
        paths = [relative_path(path, context) for path in sort_newest_first(names, directory)]
        page = _page(args, paths)
        head = f"Found {page.total:,} {'file' if page.total == 1 else 'files'}" if paths else "No files found"
        return _outcome(args, [head, *page.items, page.note, *early], page, {"filenames": page.items})
    groups = _group_by_file(result.output, allowed)
    for name in find_denied(list(groups), directory, context):
        del groups[name]
    labels = {name: relative_path(os.path.join(directory, name.decode("utf-8", "replace")), context) for name in groups}
    if args.output_mode == "count":
        counts = {name: int(lines[0][1:]) for name, lines in groups.items() if lines[0][1:].isdigit()}
        page = _page(args, [f"{labels[name]}:{count}" for name, count in counts.items()])
        matches = sum(counts.values())
        tail = f"Found {matches:,} matches in {len(counts):,} files." if counts else "No matches found"
        extra = {"filenames": [], "numMatches": matches, "content": "\n".join(page.items)}
        return _outcome(args, [*page.items, page.note, tail, *early], page, extra)
    lines = _lines(args, groups, labels)
    page = _page(args, lines)
    text = "\n".join(page.items)
    extra = {"filenames": [], "content": text, "numLines": len(page.items), "numFiles": len(groups)}
    return _outcome(args, [text or "No matches found", page.note, *early], page, extra)


def _group_by_file(output: bytes, allowed: set[bytes] | None) -> dict[bytes, list[str]]:
    """The lines of each file, sorted by path: ripgrep searches in parallel and returns files in any order."""
    groups: dict[bytes, list[str]] = {}
    previous, gap = b"", False
    for line in output.splitlines() if b"\r" not in output else output.split(b"\n"):
        name, separator, rest = line.partition(b"\0")
        if not separator:
            gap = True
            continue
        name = name.removeprefix(b"./")
        if allowed is not None and name not in allowed:
            continue
        lines = groups.setdefault(name, [])
        if gap and name == previous:
            lines.append("--")
        previous, gap = name, False
        lines.append(":" + rest.rstrip(b"\r").decode("utf-8", "replace"))
    return dict(sorted(groups.items()))


def _lines(args: GrepArgs, groups: dict[bytes, list[str]], labels: dict[bytes, str]) -> list[str]:
    lines: list[str] = []
    for name, matches in groups.items():
        if lines and (args.before or args.after or args.around):
            lines.append("--")
        lines.extend(line if line == "--" else _label(labels[name], line, args.numbers) for line in matches)
    return lines


def _label(label: str, line: str, numbers: bool) -> str:
    """Prefix a line with its path and the marker of a match (`:`) or a context line (`-`)."""
    number = re.match(r":(\d+)([:-])", line)
    if number is None:
        return label + line
    mark, rest = number[2], line[number.end() :]
    return f"{label}{mark}{number[1]}{mark}{rest}" if numbers else f"{label}{mark}{rest}"


def _page(args: GrepArgs, items: list[str]) -> _Page:
    end = args.offset + args.head_limit if args.head_limit else len(items)
    page = items[args.offset : end]
    if len(page) == len(items):
        return _Page(page, len(items), "")
    last = args.offset + len(page)
    more = f"; use offset {last} for more" if last < len(items) else ""
    return _Page(page, len(items), f"(Results {args.offset + 1}-{last} of {len(items):,}{more}.)")


def _outcome(args: GrepArgs, parts: list[str], page: _Page, extra: dict[str, Any]) -> Outcome:
    display: dict[str, Any] = {"mode": args.output_mode, "numFiles": len(page.items)} | extra
    if page.note:
        display["appliedLimit"] = args.head_limit
        display["appliedOffset"] = args.offset
    return Outcome("\n".join(part for part in parts if part), display=display)


def _explain(error: str) -> str:
    if "look-around" in error or "backreference" in error:
        error = error.partition("\n\nConsider enabling PCRE2")[0]
        error += "\n\nLook-around and back-references are not available: write the pattern without them."
    return f"The search failed: {error}"
