/** External engines and our own, in words for a person who chooses one. */
import type { ServerConfig } from "@/api/types";
import type { Choice } from "@/composer/modes";

type Engine = ServerConfig["engine_options"][number];

export function engineChoices(config: ServerConfig): Choice[] {
  return config.engine_options.map((engine) => ({
    value: engine.name,
    label: engine.label,
    about: engine.installed ? engineAbout(engine) : engine.problem,
    disabled: !engine.installed,
  }));
}

/** What it is, what it takes, and what to expect of a version nobody tested. */
export function engineAbout({ about, warning }: Engine): string {
  return [about, warning].filter(Boolean).join(" ");
}

/** Its name and its version, where that is known. */
export function engineTitle({ name, version }: Engine): string {
  return version ? `${name} ${version}` : name;
}
