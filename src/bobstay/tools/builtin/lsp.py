"""Lsp: asks a language server about code: errors, definitions, references, types and symbols."""

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import Args, Claim, Context, Outcome, Tool, ToolError
from bobstay.tools.files.tool_path import ToolPath, absolute_path, locate, real_path, stat_regular_file

if TYPE_CHECKING:
    from bobstay.tools.lsp.language_server import LanguageServer

_MAX_DIAGNOSTICS = 50
_DIAGNOSTIC_SECONDS = 15.0


class LspArgs(Args, frozen=True):
    operation: Annotated[
        Literal["diagnostics", "definition", "references", "hover", "symbols"],
        Meta(description="What to ask: problems of the file, or about the symbol at a position, or an outline."),
    ]
    file_path: Annotated[str, Meta(description="Path of the file, absolute or relative to the working directory.")]
    line: Annotated[int, Meta(ge=1, le=10_000_000, description="The line of the symbol, counted from 1.")] | None = None
    symbol: Annotated[str, Meta(max_length=500, description="The symbol, as it is written in that line.")] | None = None
    column: (
        Annotated[int, Meta(ge=1, le=10_000_000, description="Its column, counted from 1, in place of symbol.")] | None
    ) = None


class Lsp(Tool[LspArgs]):
    name = "Lsp"
    hint = "language server diagnostics errors definition references type hover symbols"
    description = (
        "Asks a language server about code, which knows its meaning and not only its text.\n"
        "- diagnostics: errors and warnings of a file, as it is on disk.\n"
        "- definition, references, hover: where a symbol is defined, where it is used, its type and documentation. "
        "Give the line, and the symbol as it stands there or its column.\n"
        "- symbols: an outline of the file.\n"
        "Use Grep to search for text. The first call for a language starts its server and takes longer."
    )
    args = LspArgs
    needs = "languages"

    def read_only(self, args: LspArgs, context: Context) -> bool:
        return True

    def access(self, args: LspArgs, context: Context) -> tuple[Access, ...]:
        path = absolute_path(args.file_path, context)
        languages = context.services.languages
        if languages is None:
            return ()
        try:
            spec = languages.spec_for(path)
            starts = spec.runs_project and not languages.is_running(real_path(path), context.directories)
        except ToolError:
            return (Access("read", path),)  # refused by `check`
        return (Access("read", path), *((Access("exec", shlex.join(spec.command)),) if starts else ()))

    def claims(self, args: LspArgs, context: Context) -> tuple[Claim, ...]:
        return (Claim(f"file:{real_path(absolute_path(args.file_path, context))}", shared=True),)

    async def check(self, args: LspArgs, context: Context) -> None:
        languages = context.services.languages
        if languages is None:
            raise ToolError("No language server was found on this machine.")
        languages.spec_for(locate(args.file_path, context).path)
        is_placed = args.line is not None and (args.symbol or args.column is not None)
        if args.operation in ("definition", "references", "hover") and not is_placed:
            raise ToolError(f"{args.operation} needs the line, and the symbol or its column.")

    async def run(self, args: LspArgs, context: Context) -> Outcome:
        from bobstay.tools.lsp.rpc_connection import ServerFailedError

        await self.check(args, context)
        target = locate(args.file_path, context)
        if stat_regular_file(target) is None:
            raise ToolError(f"{target.path} does not exist.")
        languages = context.services.languages
        assert languages is not None, "checked above"
        server = await languages.server_for(target.real, context.directories)
        try:
            return await _answer(server, args, target, context)
        except ServerFailedError as error:
            raise ToolError(f"The language server {server.spec.name} could not answer: {error}.") from None


async def _answer(server: "LanguageServer", args: LspArgs, target: ToolPath, context: Context) -> Outcome:
    from bobstay.tools.lsp.answers import describe_hover, describe_symbols, find_column

    if args.operation == "diagnostics":
        return await _diagnostics(server, target.real, target.path)
    if args.operation == "symbols":
        answer = await server.ask("documentSymbol", target.real)
        return Outcome(describe_symbols(answer) or "The file has no symbols.")
    column = await find_column(target.real, args.line or 1, args.symbol, args.column)
    if args.operation == "hover":
        answer = await server.ask("hover", target.real, (args.line or 1) - 1, column)
        return Outcome(describe_hover(answer) or "The language server says nothing about this place.")
    return await _locations(server, args, target.real, column, context)


async def _diagnostics(server: "LanguageServer", real: str, path: str) -> Outcome:
    found = await server.diagnose(real, _DIAGNOSTIC_SECONDS)
    if found is None:
        raise ToolError(
            f"The language server {server.spec.name} said nothing about {path} within {_DIAGNOSTIC_SECONDS:g} seconds. "
            "It may still be reading the project: ask again later."
        )
    listed = "\n".join(f"{path}:{each.describe()}" for each in found[:_MAX_DIAGNOSTICS])
    more = f"\n... and {len(found) - _MAX_DIAGNOSTICS} more" if len(found) > _MAX_DIAGNOSTICS else ""
    return Outcome(f"{listed}{more}" or f"{server.spec.name} finds no problem in {path}.")


async def _locations(server: "LanguageServer", args: LspArgs, real: str, column: int, context: Context) -> Outcome:
    from asyncio import to_thread

    from bobstay.tools.lsp.answers import describe_locations

    question: Literal["definition", "references"] = "definition" if args.operation == "definition" else "references"
    answer = await server.ask(question, real, (args.line or 1) - 1, column)
    denied = context.services.denied_reads() if context.services.denied_reads is not None else None
    listed = await to_thread(describe_locations, answer, context.directories, denied)
    return Outcome(listed or f"No {question} found for this place.")
