"""Texts that the loop sends to the model or shows to the person when an answer is incomplete."""

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
CONTINUE = "The answer was cut off at the output limit. Go on exactly where it stopped; do not repeat or apologise."
BROKEN_OFF = "The connection to the model broke in the middle of the answer. Go on exactly where it stopped."
EMPTY_ANSWER = "Your last answer was empty. Go on with the task; if it is done, say what came of it."
EMPTY_ANSWERS = "The model gave an empty answer {count} times in a row. Try again, or choose another model."
EMPTY_RETRIES = 2
PAUSED = "Go on."
WANT_STRUCTURED = "The final answer must be given by calling the tool for structured output. Call it now."
