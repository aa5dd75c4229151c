"""The version of bobstay, and the level of the stream-json protocol it speaks."""

__version__ = "0.1.0"

PROTOCOL_LEVEL = "2.1.325"
"""The release of the protocol's first implementation whose frames ours are measured against."""
