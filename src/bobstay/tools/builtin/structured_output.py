"""StructuredOutput: the final answer of a run as data that fits the schema its caller gave."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from bobstay.permissions.access import Access
from bobstay.tools.base import Context, Outcome, Tool, ToolError
from bobstay.tools.schema import RawArgs

_SHOWN = 20
_LONGEST = 300


class StructuredOutput(Tool[RawArgs]):
    name = "StructuredOutput"
    hint = "final answer as JSON, structured result"
    description = """\
Give your final answer in the form that was asked for. Call it exactly once, when all the work is done: the run ends \
with it, and only what you pass here reaches whoever asked. The input must fit this tool's schema; if it does not, you \
are told every problem and call it again."""
    args = RawArgs
    needs = "schema"

    def read_only(self, args: RawArgs, context: Context) -> bool:
        return True

    def access(self, args: RawArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    async def run(self, args: RawArgs, context: Context) -> Outcome:
        schema = context.parts.get("schema")
        if not isinstance(schema, dict):
            raise ToolError("No schema was asked for in this session: answer in plain text.")
        found = list(islice(faults(args.value, schema), _SHOWN + 1))
        if found:
            more = ["and more"] if len(found) > _SHOWN else []
            listed = "\n".join(f"- {fault}" for fault in [*found[:_SHOWN], *more])
            raise ToolError(
                f"The output does not match the required schema:\n{listed}\nCall it again with all of it put right."
            )
        done = "Structured output provided successfully"
        return Outcome(done, display=done, structured=args.value)


def faults(value: Any, schema: dict[str, Any]) -> Iterable[str]:
    """All that keeps `value` from fitting `schema`. References out of the schema are never fetched."""
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped] # it ships no types
    from referencing.exceptions import Unresolvable

    kind = validators.validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
        errors = sorted(
            kind(schema, registry=REGISTRY).iter_errors(value), key=lambda error: list(map(str, error.path))
        )
    except SchemaError as error:
        yield f"the schema itself is not valid ({_clip(error.message)}), so nothing can match it: answer in plain text"
    except Unresolvable as error:
        yield f"the schema refers to {_clip(str(error))}, which it does not contain: answer in plain text"
    except RecursionError:
        yield "the output is nested too deeply"
    else:
        for fault in errors:
            path = "/".join(str(step) for step in fault.path)
            yield f"{_clip('/' + path) if path else 'root'}: {_clip(fault.message)}"


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
