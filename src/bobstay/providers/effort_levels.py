"""Reasoning effort limits: lowers the effort level after a model refused one."""

from bobstay.providers.thinking import EFFORTS, Effort

_PARAMETER_REFUSED = (
    "unsupported parameter",
    "unrecognized",
    "unknown parameter",
    "unexpected",
    "extra ",
    "extra_",
)


class EffortLimits:
    """Remembers the highest effort that each model accepts."""

    def __init__(self) -> None:
        self._highest: dict[str, int] = {}

    def allowed(self, model: str, wanted: Effort | None) -> Effort | None:
        """Return the effort to request; None if the model accepts none."""
        if wanted is None:
            return None
        index = min(EFFORTS.index(wanted), self._highest.get(model, len(EFFORTS)))
        return EFFORTS[index] if index >= 0 else None

    def lower(self, model: str, refused: Effort) -> str:
        """Lower the limit of `model` by one level; return a note for the person."""
        index = self._highest[model] = EFFORTS.index(refused) - 1
        if index < 0:
            return f"The model {model} does not support the effort {refused!r}: no effort is sent."
        return f"The model {model} does not support the effort {refused!r}: {EFFORTS[index]!r} is used from now on."


def is_refused_level(refusal: str) -> bool:
    """Whether an error refuses the level of effort, and not the parameter itself."""
    text = refusal.lower()
    named = "effort" in text or "reasoning value" in text  # the latter is Ollama's wording
    return named and not any(phrase in text for phrase in _PARAMETER_REFUSED)
