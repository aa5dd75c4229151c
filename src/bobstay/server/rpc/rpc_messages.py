"""JSON-RPC 2.0 messages, one per line."""

from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from bobstay.server.errors import ApiError, Problem
from bobstay.sessions.log_codec import Unstorable, to_json

Id: TypeAlias = int | float | str | None
Params: TypeAlias = dict[str, Any] | list[Any] | None

PARSE = -32700
INVALID_REQUEST = -32600
NO_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
REFUSED = -32000
"""An error of the API; `data` has its code, status and details, as over HTTP."""

MOST_IN_BATCH = 100
EVENT = b'{"jsonrpc":"2.0","method":"event","params":'
REPLY = b'{"jsonrpc":"2.0","id":'


class RpcError(Exception):
    """Ends one request."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class RpcMessage(Struct, frozen=True):
    """A request; without an `id` a notification, which gets no reply."""

    method: str
    jsonrpc: str = "2.0"
    params: Params = None
    id: Id | UnsetType = UNSET


class _WithId(Struct):
    id: Id = None


_message = msgspec.json.Decoder(RpcMessage)
_batch = msgspec.json.Decoder(list[msgspec.Raw])


def parse_line(line: bytes) -> "list[RpcMessage | bytes] | RpcMessage | bytes":
    """Parse a line: a message or a batch of them; invalid ones become the error reply."""
    if line.lstrip()[:1] != b"[":
        return _parse_message(line)
    try:
        parts = _batch.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return error_reply(None, PARSE, "Invalid JSON")
    if not parts:
        return error_reply(None, INVALID_REQUEST, "The batch is empty.")
    if len(parts) > MOST_IN_BATCH:
        return error_reply(None, INVALID_REQUEST, f"A batch may have at most {MOST_IN_BATCH} requests.")
    return [_parse_message(bytes(part)) for part in parts]


def _parse_message(text: bytes) -> RpcMessage | bytes:
    try:
        message: RpcMessage = _message.decode(text)
    except msgspec.ValidationError as error:
        return error_reply(_id_of(text), INVALID_REQUEST, f"Invalid request: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return error_reply(None, PARSE, "Invalid JSON")
    if message.jsonrpc != "2.0":
        return error_reply(_id_of(text), INVALID_REQUEST, "Only JSON-RPC 2.0 is supported.")
    return message


def _id_of(text: bytes) -> Id:
    try:
        return msgspec.json.decode(text, type=_WithId).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def success_reply(id: Id, result: Any) -> bytes:
    try:
        return REPLY + to_json(id) + b',"result":' + to_json(result) + b"}"
    except Unstorable as error:
        return error_reply(id, INTERNAL, f"The result cannot be encoded: {error}")


def error_reply(id: Id, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return REPLY + to_json(id) + b',"error":' + to_json(error) + b"}"


def rpc_error_of(error: ApiError) -> RpcError:
    problem: Problem = error.problem
    data = {"code": problem.code, "status": error.status, "details": problem.details}
    return RpcError(REFUSED, problem.message, data)
