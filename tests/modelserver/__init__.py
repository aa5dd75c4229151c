"""A scripted model behind a real HTTP server, for tests.

A prompt with `SCN:<name>` selects `server.scenarios[name]`, a list of steps; the step is the number of answers after
the last message with such a token, so the server keeps no state of the conversation.
"""

from tests.modelserver.dialect import ModelRequest
from tests.modelserver.script import BROKEN, Call, Counts, Gate, Say, Scenario, Step, Think
from tests.modelserver.server import ModelServer

__all__ = ["BROKEN", "Call", "Counts", "Gate", "ModelRequest", "ModelServer", "Say", "Scenario", "Step", "Think"]
