"""Glob: find files by the pattern of their path."""

import asyncio
import os
import time
from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.file_tree import files_below, hidden, is_directory, newest_first, starting_place
from bobstay.tools.files.tool_path import absolute

_MOST = 100


class GlobArgs(Args, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=4_000, description="Such as **/*.py, src/*.ts or docs/**/*.{md,rst}")
    ]
    path: Annotated[str, Meta(description="The directory to look in; the working directory unless given")] = ""


class Glob(Tool[GlobArgs]):
    name = "Glob"
    hint = "find files by name, list directory, path pattern"
    description = """\
Find files by a pattern of their path, whatever the size of the project. Gives absolute paths, those changed last \
first, at most 100.

- `*` and `?` stay within one directory, `**` spans any number of them, `{a,b}` gives a choice: `**/*.py`, \
`src/*.{ts,tsx}`.
- Files that .gitignore names are left out; hidden files are not.
- To look for what is in files use Grep."""
    args = GlobArgs

    def read_only(self, args: GlobArgs, context: Context) -> bool:
        return True

    def access(self, args: GlobArgs, context: Context) -> tuple[Access, ...]:
        return (Access("read", _split(args, context)[0]),)

    def claims(self, args: GlobArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim("*", shared=True),)

    async def run(self, args: GlobArgs, context: Context) -> Outcome:
        began = time.monotonic()
        place = starting_place(args.path, context)
        if not is_directory(place):
            raise ToolError(f"{place} is a file, not a directory. Give the directory to look in, or read the file.")
        directory, pattern = _split(args, context)
        names: list[bytes] = []
        complete = True
        if is_directory(directory):
            names, complete = await files_below(directory, [] if pattern == "/**" else [pattern], context)
            secret = hidden(names, directory, context)
            names = [name for name in names if name not in secret]
        paths = await asyncio.to_thread(newest_first, names, directory) if names else []
        lines = paths[:_MOST] or ["No files found"]
        if len(paths) > _MOST:
            lines.append(
                f"(Results are truncated: {_MOST} of {len(paths):,} are shown. Use a narrower path or pattern.)"
            )
        if not complete:
            lines.append("(The search was ended early, so files may be missing. Use a narrower path or pattern.)")
        display = {
            "filenames": paths[:_MOST],
            "durationMs": int((time.monotonic() - began) * 1000),
            "numFiles": len(paths[:_MOST]),
            "truncated": len(paths) > _MOST or not complete,
        }
        return Outcome("\n".join(lines), display=display)


def _split(args: GlobArgs, context: Context) -> tuple[str, str]:
    """The deepest directory that is certain, and the pattern below it in ripgrep's form."""
    parts = args.pattern.removesuffix("/").removeprefix("./").split("/")
    if args.pattern.endswith("/"):
        parts.append("**")
    plain = 0
    while plain < len(parts) - 1 and not set("*?[{\\") & set(parts[plain]):
        plain += 1
    prefix = "/".join(parts[:plain]) or ("/" if args.pattern.startswith("/") else "")
    base = absolute(args.path, context) if args.path else str(context.cwd)
    rest = parts[plain:]
    return absolute(os.path.join(base, prefix), context), "/" + "/".join(rest)
