"""Which model a session starts with: flag, environment, settings, and then whatever there is a key for."""

from collections.abc import Sequence

from bobstay.assembly.model_routes import ModelRoutes
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.config.settings_files import LoadedSettings
from bobstay.providers.provider_registry import usual_name


def chosen_model(
    options: Options, loaded: LoadedSettings, environment: Environment, routes: ModelRoutes, before: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """The model's name, and warnings. A settings file of another program never keeps a session from starting.

    Raises:
        ValueError: the model that was asked for cannot be reached. The text names who asked for it, and begins with
            the warnings in `before`: what was left out may be why.
    """
    try:
        return _chosen(options, loaded, environment, routes)
    except ValueError as error:
        if not before:
            raise
        raise ValueError("\n".join((*before, str(error)))) from error


def _chosen(
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
    return _of_settings(loaded, routes)


def _of_settings(loaded: LoadedSettings, routes: ModelRoutes) -> tuple[str, list[str]]:
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
        if usual_name(model) != model.strip():
            warnings.append(f"{layer.file}: the model {model!r} is used as {usual_name(model)!r}.")
        return model, warnings
    try:
        model = routes.default()
    except ValueError as error:
        raise ValueError(" ".join((*warnings, str(error)))) from error
    routes.route(model)
    return model, warnings
