"""Levels of reasoning effort: how to go on when a model refuses the one it was asked for."""

from bobstay.providers.thinking import EFFORTS, Effort

_NO_LEVEL_HELPS = (
    "unsupported parameter",
    "unrecognized",
    "unknown parameter",
    "unexpected",
    "extra ",
    "extra_",
)


class Efforts:
    """Remembers for each model the highest effort it takes."""

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}

    def allowed(self, model: str, wanted: Effort | None) -> Effort | None:
        """The effort to ask for; None where none can be."""
        if wanted is None:
            return None
        place = min(EFFORTS.index(wanted), self._highest.get(model, len(EFFORTS)))
        return EFFORTS[place] if place >= 0 else None

    def refuse(self, model: str, refused: Effort) -> str:
        """Go one level down for `model`; return what to tell the person."""
        place = self._highest[model] = EFFORTS.index(refused) - 1
        if place < 0:
            return f"The model {model} does not take the effort {refused!r}: it is asked without one."
        return (
            f"The model {model} does not take the effort {refused!r}: it is asked with {EFFORTS[place]!r} from here on."
        )


def is_refused_level(refusal: str) -> bool:
    """Tell whether an error complains of the level of effort, and not of there being one."""
    text = refusal.lower()
    named = "effort" in text or "reasoning value" in text  # the latter is how Ollama says it
    return named and not any(word in text for word in _NO_LEVEL_HELPS)
