"""JSON-RPC 2.0 as it goes over the socket, one message a line."""

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
"""An error of the API: what it is stands in `data`, as in a body over HTTP."""

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
    """A request, or without an `id` a notification: that is done and not answered."""

    method: str
    jsonrpc: str = "2.0"
    params: Params = None
    id: Id | UnsetType = UNSET


class _Identified(Struct):
    id: Id = None


_message = msgspec.json.Decoder(RpcMessage)
_batch = msgspec.json.Decoder(list[msgspec.Raw])


def read(line: bytes) -> "list[RpcMessage | bytes] | RpcMessage | bytes":
    """What a line says: a message, a batch of them, or in place of either the answer to what is none."""
    if line.lstrip()[:1] != b"[":
        return _one(line)
    try:
        parts = _batch.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return failure(None, PARSE, "Invalid JSON")
    if not parts:
        return failure(None, INVALID_REQUEST, "There is nothing in this batch.")
    if len(parts) > MOST_IN_BATCH:
        return failure(None, INVALID_REQUEST, f"A batch may have at most {MOST_IN_BATCH} requests.")
    return [_one(bytes(part)) for part in parts]


def _one(text: bytes) -> RpcMessage | bytes:
    try:
        message: RpcMessage = _message.decode(text)
    except msgspec.ValidationError as error:
        return failure(_id_of(text), INVALID_REQUEST, f"This is no request: {error}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return failure(None, PARSE, "Invalid JSON")
    if message.jsonrpc != "2.0":
        return failure(_id_of(text), INVALID_REQUEST, "Only JSON-RPC 2.0 is spoken here.")
    return message


def _id_of(text: bytes) -> Id:
    try:
        return msgspec.json.decode(text, type=_Identified).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def success(id: Id, result: Any) -> bytes:
    try:
        return REPLY + to_json(id) + b',"result":' + to_json(result) + b"}"
    except Unstorable as error:
        return failure(id, INTERNAL, f"The answer cannot be written: {error}")


def failure(id: Id, code: int, message: str, data: Any = None) -> bytes:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return REPLY + to_json(id) + b',"error":' + to_json(error) + b"}"


def of_api(error: ApiError) -> RpcError:
    problem: Problem = error.problem
    data = {"code": problem.code, "status": error.status, "details": problem.details}
    return RpcError(REFUSED, problem.message, data)
