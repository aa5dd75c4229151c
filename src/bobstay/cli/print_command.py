"""`bobstay -p`: answer a prompt, or serve a host program, and exit."""

import gc
import os
import sys

from bobstay.cli.flag_parser import UsageError
from bobstay.cli.option_rules import read_options
from bobstay.cli.stdin_prompt import read_prompt
from bobstay.config.options import Options


def run(arguments: list[str]) -> int:
    gc.disable()  # modules imported now are never freed: scanning them costs a tenth of the start-up time
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
    return "" if options.input_format == "stream-json" else read_prompt(options.prompt)


def _run(options: Options, prompt: str) -> int:
    import asyncio

    from bobstay.print_mode.run_print import run as run_print

    if options.debug is not None or options.debug_file:
        _configure_logging(options)
    gc.freeze()
    gc.enable()
    return asyncio.run(run_print(options, prompt))


def _configure_logging(options: Options) -> None:
    import logging

    from bobstay.config.secret_variables import secret_values
    from bobstay.redaction.redactor import Redactor

    redactor = Redactor(secret_values(os.environ))

    class RedactingFormatter(logging.Formatter):
        """Removes secrets from log records."""

        def format(self, record: logging.LogRecord) -> str:
            return redactor.redact(super().format(record))

    handler = logging.FileHandler(options.debug_file) if options.debug_file else logging.StreamHandler()
    handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.DEBUG, handlers=[handler])
    for name in filter(None, (options.debug or "").split(",")):
        # "!name" silences a logger below bobstay; a plain name sets it to debug.
        logging.getLogger(f"bobstay.{name.lstrip('!')}").setLevel(logging.ERROR if name[0] == "!" else logging.DEBUG)
