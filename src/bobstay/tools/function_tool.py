"""Makes a tool of an ordinary typed function, for people who build bobstay into programs of their own."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints, overload

import msgspec
from msgspec import Meta

from bobstay.permissions.access import Access
from bobstay.tools.base import EVERYTHING, Args, Claim, Context, Outcome, Tool


class FunctionTool(Tool[Args]):
    """A tool that calls a function. Made by `tool`, not by hand."""

    function: Callable[..., Any]
    wants_context: str = ""
    """The name of the parameter that takes the call's context, if there is one."""
    touches_nothing: bool = False

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Call the function itself, as if it had never been made a tool."""
        return type(self).function(*positional, **named)

    def read_only(self, args: Args, context: Context) -> bool:
        return self.touches_nothing

    def access(self, args: Args, context: Context) -> tuple[Access, ...]:
        return (Access("none"),) if self.touches_nothing else ()

    def claims(self, args: Args, context: Context) -> tuple[Claim, ...]:
        return () if self.touches_nothing else (EVERYTHING,)

    async def run(self, args: Args, context: Context) -> Outcome:
        function = type(self).function
        named = {name: getattr(args, name) for name in args.__struct_fields__}
        if self.wants_context:
            named[self.wants_context] = context
        if inspect.iscoroutinefunction(function):
            return _outcome(await function(**named))
        return _outcome(await asyncio.to_thread(function, **named))


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
    """Make a tool of a function whose parameters all have types. Use it as `@tool` or `@tool(name=...)`.

    The docstring, or `description`, tells the model what it does; `Annotated[int, "how many"]` explains a parameter;
    one of type `Context` gets the call's context. A plain function runs in a thread, an async one in the event loop.
    Say `read_only=True` only of a function that changes nothing and gives nothing away: it then runs without being
    asked about, and beside other calls.

    Raises:
        TypeError: the function cannot be described to a model.
    """
    if function is not None:
        return _made(function, name, description, read_only=read_only)

    def wrap(wrapped: Callable[..., Any]) -> FunctionTool:
        return _made(wrapped, name, description, read_only=read_only)

    return wrap


def _made(function: Callable[..., Any], name: str | None, description: str | None, *, read_only: bool) -> FunctionTool:
    called = name or function.__name__
    text = description or inspect.getdoc(function)
    if not text:
        raise TypeError(f"{called} needs a docstring or a description: the model knows nothing else of it")
    fields, wants_context = _fields(function, called)
    made = type(
        called,
        (FunctionTool,),
        {
            "__module__": function.__module__,
            "__doc__": text,
            "name": called,
            "description": text,
            "args": msgspec.defstruct(f"{called}_args", fields, bases=(Args,), frozen=True, kw_only=True),
            "function": staticmethod(function),
            "wants_context": wants_context,
            "touches_nothing": read_only,
        },
    )()
    assert isinstance(made, FunctionTool)
    return made


def _fields(function: Callable[..., Any], called: str) -> tuple[list[Any], str]:
    """The parameters as fields of a struct, and the name of the one that takes the context."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    wants_context = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{called}: the parameter {parameter.name} cannot be given by name, as a model gives it")
        if parameter.name not in hints:
            raise TypeError(f"{called}: the parameter {parameter.name} has no type")
        if hints[parameter.name] is Context:
            wants_context = parameter.name
            continue
        described = _described(hints[parameter.name])
        bare = parameter.default is inspect.Parameter.empty
        fields.append((parameter.name, described) if bare else (parameter.name, described, parameter.default))
    return fields, wants_context


def _described(hint: Any) -> Any:
    """`Annotated[X, "words"]` as msgspec wants it."""
    if get_origin(hint) is not Annotated:
        return hint
    inner, *notes = get_args(hint)
    for note in notes:
        if isinstance(note, str):
            inner = Annotated[inner, Meta(description=note)]
        elif isinstance(note, Meta):
            inner = Annotated[inner, note]
    return inner


def _outcome(result: Any) -> Outcome:
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
