/** Engine choices and their descriptions. */
import type { ServerConfig } from "@/api/types";
import type { Choice } from "@/state/modes";

type Engine = ServerConfig["engine_options"][number];

export function engineChoices(config: ServerConfig): Choice[] {
  return config.engine_options.map((engine) => ({
    value: engine.name,
    label: engine.label,
    about: engine.installed ? engineAbout(engine) : engine.problem,
    disabled: !engine.installed,
  }));
}

/** Description of an engine, with a warning for untested versions. */
export function engineAbout({ about, warning }: Engine): string {
  return [about, warning].filter(Boolean).join(" ");
}

/** Name and version, if known. */
export function engineTitle({ name, version }: Engine): string {
  return version ? `${name} ${version}` : name;
}
