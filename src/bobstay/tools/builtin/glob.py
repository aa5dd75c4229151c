"""Glob: find files by path pattern."""

import asyncio
import os
import time
from typing import Annotated

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.file_tree import find_denied, is_directory, list_files, resolve_search_path, sort_newest_first
from bobstay.tools.files.tool_path import absolute_path

_MAX_RESULTS = 100


class GlobArgs(Args, frozen=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=4_000, description="Such as **/*.py, src/*.ts or docs/**/*.{md,rst}")
    ]
    path: Annotated[str, Meta(description="The directory to look in; the working directory unless given")] = ""


class Glob(Tool[GlobArgs]):
    name = "Glob"
    hint = "find files by name, list directory, path pattern"
    description = """\
Find files by a pattern of their path, whatever the size of the project. Returns absolute paths, most recently \
changed first, at most 100.

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
        search_root = resolve_search_path(args.path, context)
        if not is_directory(search_root):
            raise ToolError(
                f"{search_root} is a file, not a directory. Give the directory to look in, or read the file."
            )
        directory, pattern = _split(args, context)
        names: list[bytes] = []
        complete = True
        if is_directory(directory):
            names, complete = await list_files(directory, [] if pattern == "/**" else [pattern], context)
            denied = find_denied(names, directory, context)
            names = [name for name in names if name not in denied]
        paths = await asyncio.to_thread(sort_newest_first, names, directory) if names else []
        lines = paths[:_MAX_RESULTS] or ["No files found"]
        if len(paths) > _MAX_RESULTS:
            lines.append(
                f"(Results are truncated: {_MAX_RESULTS} of {len(paths):,} are shown. Use a narrower path or pattern.)"
            )
        if not complete:
            lines.append("(The search was ended early, so files may be missing. Use a narrower path or pattern.)")
        display = {
            "filenames": paths[:_MAX_RESULTS],
            "durationMs": int((time.monotonic() - began) * 1000),
            "numFiles": len(paths[:_MAX_RESULTS]),
            "truncated": len(paths) > _MAX_RESULTS or not complete,
        }
        return Outcome("\n".join(lines), display=display)


def _split(args: GlobArgs, context: Context) -> tuple[str, str]:
    """The deepest directory without wildcards, and the remaining pattern in ripgrep's syntax."""
    parts = args.pattern.removesuffix("/").removeprefix("./").split("/")
    if args.pattern.endswith("/"):
        parts.append("**")
    plain = 0
    while plain < len(parts) - 1 and not set("*?[{\\") & set(parts[plain]):
        plain += 1
    prefix = "/".join(parts[:plain]) or ("/" if args.pattern.startswith("/") else "")
    base = absolute_path(args.path, context) if args.path else str(context.cwd)
    rest = parts[plain:]
    return absolute_path(os.path.join(base, prefix), context), "/" + "/".join(rest)
