"""Chooses the model a session starts with: by flag, environment, settings, then the first key that is present."""

from collections.abc import Sequence

from bobstay.assembly.model_routes import ModelRoutes
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.config.settings_files import LoadedSettings
from bobstay.providers.provider_registry import normalise_model_name


def choose_model(
    options: Options, loaded: LoadedSettings, environment: Environment, routes: ModelRoutes, before: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Return the model's name, and warnings. Another program's settings file never prevents a session from starting.

    Raises:
        ValueError: the requested model cannot be reached. The text names where the request came from, and begins with
            the warnings in `before`, since an ignored setting may be the cause.
    """
    try:
        return _choose(options, loaded, environment, routes)
    except ValueError as error:
        if not before:
            raise
        raise ValueError("\n".join((*before, str(error)))) from error


def _choose(
    options: Options, loaded: LoadedSettings, environment: Environment, routes: ModelRoutes
) -> tuple[str, list[str]]:
    flag = options.model or next((layer.settings.model for layer in loaded.layers if layer.source == "cli"), None)
    if flag or environment.model:
        model = flag or environment.model
        try:
            routes.route(model)
        except ValueError as error:
            if flag:
                raise
            raise ValueError(f"{error} (The model {model!r} comes from BOBSTAY_MODEL or ANTHROPIC_MODEL.)") from error
        return model, []
    return _choose_from_settings(loaded, routes)


def _choose_from_settings(loaded: LoadedSettings, routes: ModelRoutes) -> tuple[str, list[str]]:
    warnings: list[str] = []
    for layer in loaded.layers:
        model = layer.settings.model
        if not model:
            continue
        try:
            routes.route(model)
        except ValueError as error:
            if not layer.foreign:
                raise ValueError(f"{layer.file}: model: {error}") from error
            warnings.append(f"{layer.file}: the model {model!r} is not used. {error}")
            continue
        if normalise_model_name(model) != model.strip():
            warnings.append(f"{layer.file}: the model {model!r} is used as {normalise_model_name(model)!r}.")
        return model, warnings
    try:
        model = routes.default()
    except ValueError as error:
        raise ValueError(" ".join((*warnings, str(error)))) from error
    routes.route(model)
    return model, warnings
