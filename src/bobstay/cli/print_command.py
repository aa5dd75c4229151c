"""`bobstay -p`: answer a prompt, or serve a host program, and exit."""

import gc
import os
import sys

from bobstay.cli.flag_parser import UsageError
from bobstay.cli.option_rules import read_options
from bobstay.cli.stdin_prompt import prompt_from
from bobstay.config.options import Options


def run(arguments: list[str]) -> int:
    gc.disable()  # what is imported now stays: looking through it again and again is a tenth of the start
    try:
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        options = read_options(arguments, os.environ, terminal=terminal)
        prompt = _prompt(options)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return _run(options, prompt)


def _prompt(options: Options) -> str:
    if not options.print:
        raise UsageError('Error: this version has no terminal UI yet. Use: bobstay -p "what to do"')
    return "" if options.input_format == "stream-json" else prompt_from(options.prompt)


def _run(options: Options, prompt: str) -> int:
    import asyncio

    from bobstay.print_mode.run_print import run as printed

    if options.debug is not None or options.debug_file:
        _log(options)
    if options.mcp_config:
        sys.stderr.write("Warning: MCP servers are not supported yet; --mcp-config is ignored.\n")
    gc.freeze()
    gc.enable()
    return asyncio.run(printed(options, prompt))


def _log(options: Options) -> None:
    import logging

    from bobstay.config.secret_variables import secret_values
    from bobstay.redaction.redactor import Redactor

    mask = Redactor(secret_values(os.environ))

    class Masked(logging.Formatter):
        """Records are read by others than those who may know the secrets."""

        def format(self, record: logging.LogRecord) -> str:
            return mask.text(super().format(record))

    handler = logging.FileHandler(options.debug_file) if options.debug_file else logging.StreamHandler()
    handler.setFormatter(Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG, handlers=[handler])
    for name in filter(None, (options.debug or "").split(",")):
        # "!part" keeps a part quiet; naming parts keeps all others quiet.
        logging.getLogger(f"bobstay.{name.lstrip('!')}").setLevel(logging.ERROR if name[0] == "!" else logging.DEBUG)
