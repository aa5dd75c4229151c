/** How the session works: its way of going about things, who thinks, what it asks, where it writes, how far it goes. */

import type { ServerConfig, Workflow } from "@/api/types";
import { permissionChoices, workflowChoices } from "@/composer/modes";
import { Combo, type Proposal } from "@/ui/Combo";
import { Field, INPUT } from "@/ui/Field";
import { Select } from "@/ui/Select";
import { Switch } from "@/ui/Switch";
import { short } from "@/words/format";
import { useDraft } from "./draft";
import type { Problems } from "./problems";

export function Options({ config, problems }: { config: ServerConfig; problems: Problems }) {
  const draft = useDraft();
  const permissions = permissionChoices(config, draft.workflow);
  const begins =
    config.workflows.find((each) => each.name === draft.workflow)?.permission_modes[0] ?? "default";
  const permission = permissions.find(
    (each) => each.value === (draft.permission || begins) && !each.disabled,
  );
  const workflow = config.workflows.find((each) => each.name === draft.workflow);
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <Field label="Workflow" about={workflow?.description} problem={problems.workflow}>
        {(given) => (
          <Select
            {...given}
            label="Workflow"
            value={draft.workflow}
            choices={workflowChoices(config, false)}
            onChange={(next) => draft.set({ workflow: next as Workflow, permission: "" })}
          />
        )}
      </Field>
      <Field label="Permissions" about={permission?.about} problem={problems.permission}>
        {(given) => (
          <Select
            {...given}
            label="Permissions"
            value={permission?.value ?? begins}
            choices={permissions}
            onChange={(next) => draft.set({ permission: next })}
          />
        )}
      </Field>
      <ModelField config={config} problem={problems.model} />
      {config.engines.length > 1 && (
        <Field label="Engine" about={aboutEngine(draft.engine)} problem={problems.engine}>
          {(given) => (
            <Select
              {...given}
              label="Engine"
              value={draft.engine}
              choices={config.engines.map((value) => ({ value, label: engineLabel(value) }))}
              onChange={(engine) => draft.set({ engine })}
            />
          )}
        </Field>
      )}
      <Limits config={config} problems={problems} />
      <WorkTree problem={problems.branch} />
    </div>
  );
}

function engineLabel(name: string): string {
  return name === "native" ? "bobstay" : name;
}

function aboutEngine(name: string): string {
  return name === "native"
    ? "The agent built into this server."
    : `The command ${name} on the server's machine.`;
}

function ModelField({ config, problem }: { config: ServerConfig; problem: string | undefined }) {
  const { model, set } = useDraft();
  const known = config.models.find((each) => each.alias === model);
  const about = model === "demo" ? DEMO : known ? `${known.label}, ${short(known.context)} tokens` : "";
  return (
    <Field
      label="Model"
      problem={problem}
      about={about || (model ? "Taken as it is." : "As the settings say.")}
    >
      {(given) => (
        <Combo
          given={given}
          label="Models"
          value={model}
          onChange={(next) => set({ model: next })}
          proposals={proposals(config, model)}
          placeholder="default"
        />
      )}
    </Field>
  );
}

const DEMO = "A fixed script. Offline, needs no key.";

function proposals(config: ServerConfig, typed: string): Proposal[] {
  const all = [
    ...config.models.map((each) => ({ value: each.alias, about: each.label })),
    ...(config.models.some((each) => each.alias === "demo") ? [] : [{ value: "demo", about: DEMO }]),
  ];
  const exact = all.some((each) => each.value === typed);
  return exact
    ? all.filter((each) => each.value !== typed)
    : all.filter((each) => each.value.includes(typed));
}

function Limits({ config, problems }: { config: ServerConfig; problems: Problems }) {
  const { turns, budget, set } = useDraft();
  return (
    <>
      <Field label="Turns at most" problem={problems.turns}>
        {(given) => (
          <input
            {...given}
            inputMode="numeric"
            value={turns}
            placeholder={String(config.default_max_turns)}
            onChange={(event) => set({ turns: event.target.value })}
            className={`${INPUT} tabular`}
          />
        )}
      </Field>
      <Field label="Dollars at most" problem={problems.budget}>
        {(given) => (
          <input
            {...given}
            inputMode="decimal"
            value={budget}
            placeholder="no limit"
            onChange={(event) => set({ budget: event.target.value })}
            className={`${INPUT} tabular`}
          />
        )}
      </Field>
    </>
  );
}

function WorkTree({ problem }: { problem: string | undefined }) {
  const { worktree, branch, set } = useDraft();
  return (
    <div className="sm:col-span-3">
      <Switch
        label="Work in a work tree of its own"
        about="The directory stays as it is; changes are on a branch until they are merged back."
        checked={worktree}
        onChange={(next) => set({ worktree: next })}
      />
      {(worktree || problem) && (
        <Field
          label="Branch"
          problem={problem}
          about="Left empty, one is named for it."
          className="mt-2 max-w-80"
        >
          {(given) => (
            <input
              {...given}
              value={branch}
              placeholder="feat/cart"
              spellCheck={false}
              autoCapitalize="off"
              onChange={(event) => set({ branch: event.target.value })}
              className={`${INPUT} font-mono text-code`}
            />
          )}
        </Field>
      )}
    </div>
  );
}
