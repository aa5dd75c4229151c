"""StructuredOutput: the final answer of a run as data that matches the caller's schema."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from bobstay.permissions.access import Access
from bobstay.tools.base import Context, Outcome, Tool, ToolError
from bobstay.tools.schema import RawArgs

_MAX_SHOWN = 20
_MAX_LENGTH = 300


class StructuredOutput(Tool[RawArgs]):
    name = "StructuredOutput"
    hint = "final answer as JSON, structured result"
    description = """\
Give your final answer in the form that was asked for. Call it exactly once, when all the work is done: the run ends \
with it, and only what you pass here reaches the caller. The input must fit this tool's schema; if it does not, you \
are told every problem and call it again."""
    args = RawArgs
    needs = "schema"

    def read_only(self, args: RawArgs, context: Context) -> bool:
        return True

    def access(self, args: RawArgs, context: Context) -> tuple[Access, ...]:
        return (Access("none"),)

    async def run(self, args: RawArgs, context: Context) -> Outcome:
        schema = context.services.schema
        if schema is None:
            raise ToolError("No schema was asked for in this session: answer in plain text.")
        errors = list(islice(find_schema_errors(args.value, schema), _MAX_SHOWN + 1))
        if errors:
            more = ["and more"] if len(errors) > _MAX_SHOWN else []
            listed = "\n".join(f"- {fault}" for fault in [*errors[:_MAX_SHOWN], *more])
            raise ToolError(
                f"The output does not match the required schema:\n{listed}\nCall it again with all of them fixed."
            )
        done = "Structured output provided successfully"
        return Outcome(done, display=done, structured=args.value)


def find_schema_errors(value: Any, schema: dict[str, Any]) -> Iterable[str]:
    """Yield every mismatch of `value` with `schema`. External references are never fetched."""
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
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH // 2]} ... {text[-_MAX_LENGTH // 2 :]}"
