"""Detects the encoding of a web page and decodes it."""

import codecs
import re

_UNSUITABLE = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7", "undefined"})
"""Python codecs that are not encodings of web pages; some take quadratic time."""
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb"""<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s{0,5}=\s{0,5}["']?([\w.:-]{1,40})""", re.I)
_LABEL = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)


def decode_page(data: bytes, content_type: str = "") -> str:
    """Decode `data` by its byte order mark, its header, its own declaration, as UTF-8, or as Windows-1252."""
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    label = _LABEL.search(content_type)
    declared = _DECLARED.search(data[:2048])
    for name in (label[1] if label else "", declared[1].decode("ascii", "replace") if declared else ""):
        if name and (codec := _find_codec(name)):
            return data.decode(codec, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # cut in the middle of a character
            return data.decode("utf-8", "replace")
        return data.decode("cp1252", "replace")


def looks_binary(data: bytes) -> bool:
    """Whether the beginning of `data` contains NULs or many control characters."""
    start = data[:2048]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in start)
    return b"\0" in start or odd * 10 > len(start)


def _find_codec(name: str) -> str:
    try:
        found = codecs.lookup(name).name
        b"a".decode(found)
    except (LookupError, ValueError, UnicodeError):
        return ""
    if found in _UNSUITABLE:
        return ""
    return "cp1252" if found in ("iso8859-1", "ascii") else found  # as browsers do
