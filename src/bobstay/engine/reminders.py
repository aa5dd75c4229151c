"""Texts that the loop sends to the model or shows to the person when an answer is incomplete."""

from bobstay.model.event import Prompted
from bobstay.model.ids import new_id
from bobstay.model.message import Text

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
CONTINUE = "The answer was cut off at the output limit. Go on exactly where it stopped; do not repeat or apologise."
BROKEN_OFF = "The connection to the model broke in the middle of the answer. Go on exactly where it stopped."
EMPTY_ANSWER = "Your last answer was empty. Go on with the task; if it is done, say what came of it."
EMPTY_ANSWERS = "The model gave an empty answer {count} times in a row. Try again, or choose another model."
EMPTY_RETRIES = 2
PAUSED = "Go on."
WANT_STRUCTURED = "The final answer must be given by calling the tool for structured output. Call it now."
INSTRUCTIONS = "instructions"
"""Why the model is told the instruction files of a session, those of folders that it enters, and an output style."""
NESTED_INSTRUCTIONS = "nested_instructions"
OUTPUT_STYLE = "output_style"
MESSAGE = "message"
"""The cause of a prompt that an agent of another session sent."""
LISTING = "listing"
"""Why the model is told which agents and skills there are."""
REPEATED = frozenset({INSTRUCTIONS, NESTED_INSTRUCTIONS, OUTPUT_STYLE, LISTING})
"""Reasons of what every session of a project is told alike: it says nothing about one of them."""
MENTION = "mention"
"""Why the model is given a file: a prompt mentions it."""


def remind(text: str, why: str) -> Prompted:
    """Build the prompt that sends a text to the model."""
    return Prompted(new_id(), (Text(text),), "harness", why=why)
