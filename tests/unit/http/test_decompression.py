"""Compressed bodies are decompressed in little memory, however they are made."""

import gzip
import tracemalloc
import zlib

import pytest

from bobstay.http.decompression import Decompressor


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_many_short_streams_take_no_more_memory_than_one(encoding: str) -> None:
    data = gzip.compress(b"") * 1_000 + gzip.compress(b"a") * 1_000
    decompressor = Decompressor(encoding, 10_000)
    tracemalloc.start()
    try:
        assert decompressor.feed(data) == b"a" * 1_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 7, 4_096, 100_000])
@pytest.mark.parametrize("bits", [-15, 15, 31])
def test_pieces_of_any_size_make_the_same_text(bits: int, size: int) -> None:
    text = bytes(range(256)) * 300
    packer = zlib.compressobj(wbits=bits)
    packed = packer.compress(text) + packer.flush() + b"\0" * 9_000
    decompressor = Decompressor("deflate", len(text))
    assert b"".join(decompressor.feed(packed[at : at + size]) for at in range(0, len(packed), size)) == text
    assert not decompressor.full
