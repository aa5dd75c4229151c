"""Makes a tool from a typed function, for programs that embed bobstay."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints, overload

import msgspec
from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import EVERYTHING, Args, Claim, Context, Outcome, Tool


class FunctionTool(Tool[Args]):
    """A tool that calls a function. Create it with `tool`."""

    function: Callable[..., Any]
    context_parameter: str = ""
    """Name of the parameter that receives the call's context, or ""."""
    is_read_only: bool = False

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Call the function itself."""
        return type(self).function(*positional, **named)

    def read_only(self, args: Args, context: Context) -> bool:
        return self.is_read_only

    def access(self, args: Args, context: Context) -> tuple[Access, ...]:
        return (Access("none"),) if self.is_read_only else ()

    def claims(self, args: Args, context: Context) -> tuple[Claim, ...]:
        return () if self.is_read_only else (EVERYTHING,)

    async def run(self, args: Args, context: Context) -> Outcome:
        function = type(self).function
        named = {name: getattr(args, name) for name in args.__struct_fields__}
        if self.context_parameter:
            named[self.context_parameter] = context
        if inspect.iscoroutinefunction(function):
            return _to_outcome(await function(**named))
        return _to_outcome(await asyncio.to_thread(function, **named))


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, read_only: bool = False
) -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool from a function whose parameters all have types. Use it as `@tool` or `@tool(name=...)`.

    The docstring, or `description`, tells the model what it does; `Annotated[int, "how many"]` describes a parameter;
    one of type `Context` receives the call's context. A plain function runs in a thread, an async one in the event
    loop. Set `read_only=True` only for a function that changes nothing and discloses nothing: it then runs without
    approval and in parallel with other calls.

    Raises:
        TypeError: the function cannot be described to a model.
    """
    if function is not None:
        return _build_tool(function, name, description, read_only=read_only)

    def wrap(wrapped: Callable[..., Any]) -> FunctionTool:
        return _build_tool(wrapped, name, description, read_only=read_only)

    return wrap


def _build_tool(
    function: Callable[..., Any], name: str | None, description: str | None, *, read_only: bool
) -> FunctionTool:
    called = name or function.__name__
    text = description or inspect.getdoc(function)
    if not text:
        raise TypeError(f"{called} needs a docstring or a description: it is all the model knows about it")
    fields, context_parameter = _fields(function, called)
    built = type(
        called,
        (FunctionTool,),
        {
            "__module__": function.__module__,
            "__doc__": text,
            "name": called,
            "description": text,
            "args": msgspec.defstruct(f"{called}_args", fields, bases=(Args,), frozen=True, kw_only=True),
            "function": staticmethod(function),
            "context_parameter": context_parameter,
            "is_read_only": read_only,
        },
    )()
    assert isinstance(built, FunctionTool)
    return built


def _fields(function: Callable[..., Any], called: str) -> tuple[list[Any], str]:
    """The parameters as struct fields, and the name of the one that receives the context."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    context_parameter = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{called}: the parameter {parameter.name} cannot be passed by name, as a model passes it")
        if parameter.name not in hints:
            raise TypeError(f"{called}: the parameter {parameter.name} has no type")
        if hints[parameter.name] is Context:
            context_parameter = parameter.name
            continue
        described = _to_msgspec_hint(hints[parameter.name])
        bare = parameter.default is inspect.Parameter.empty
        fields.append((parameter.name, described) if bare else (parameter.name, described, parameter.default))
    return fields, context_parameter


def _to_msgspec_hint(hint: Any) -> Any:
    """Turn `Annotated[X, "text"]` into the form msgspec expects."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *notes = get_args(hint)
    for note in notes:
        if isinstance(note, str):
            inner = Annotated[inner, Meta(description=note)]
        elif isinstance(note, Meta):
            inner = Annotated[inner, note]
    return inner


def _to_outcome(result: Any) -> Outcome:
    if isinstance(result, Outcome):
        return result
    if isinstance(result, str):
        return Outcome(result)
    if result is None:
        return Outcome("Done.")
    try:
        plain = msgspec.to_builtins(result, str_keys=True)
        return Outcome(msgspec.json.encode(plain).decode(), display=plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"a tool's function must return text, JSON values or an Outcome: {error}") from error
