/** Options of a new session: workflow, permissions, model, engine, worktree, limits. */
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { ServerConfig, Workflow } from "@/api/types";
import { short } from "@/format/values";
import { hasScope, useApp } from "@/state/app";
import { defaultModelName, permissionChoices, workflowAbout, workflowChoices } from "@/state/modes";
import { useDraft } from "@/state/newSessionDraft";
import { Button } from "@/ui/Button";
import { Combobox, type Proposal } from "@/ui/Combobox";
import { Field, INPUT } from "@/ui/Field";
import { Icon } from "@/ui/Icon";
import { useNarrow } from "@/ui/media";
import { Select } from "@/ui/Select";
import { Switch } from "@/ui/Switch";
import { engineAbout, engineChoices } from "./engines";
import { isModelNeeded, type Problems } from "./problems";

export function Options({ config, problems }: { config: ServerConfig; problems: Problems }) {
  const draft = useDraft();
  const approves = useApp((state) => hasScope(state.me, "approve"));
  const permissions = permissionChoices(config, draft.workflow, approves);
  const begins =
    config.workflows.find((each) => each.name === draft.workflow)?.permission_modes[0] ?? "default";
  const permission = permissions.find(
    (each) => each.value === (draft.permission || begins) && !each.disabled,
  );
  const changed = [draft.turns, draft.budget, draft.worktree, draft.engine !== "native"].some(Boolean);
  const workflow = config.workflows.find((each) => each.name === draft.workflow);
  const engine = config.engine_options.find((each) => each.name === draft.engine);
  return (
    <div className="grid gap-4 sm:grid-cols-3">
      <Field label="Workflow" about={workflow && workflowAbout(workflow)} problem={problems.workflow}>
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
      <Rest problems={problems} changed={changed}>
        {config.engines.length > 1 && (
          <Field label="Engine" about={engine && engineAbout(engine)} problem={problems.engine}>
            {(given) => (
              <Select
                {...given}
                label="Engine"
                value={draft.engine}
                choices={engineChoices(config)}
                onChange={(engine) => draft.set({ engine })}
              />
            )}
          </Field>
        )}
        <Limits config={config} problems={problems} />
        <WorktreeFields problem={problems.branch} />
      </Rest>
    </div>
  );
}

/** Less common options; collapsed on phones. */
function Rest(props: { problems: Problems; changed: boolean; children: ReactNode }) {
  const narrow = useNarrow();
  const { turns, budget, engine, branch } = props.problems;
  const [open, setOpen] = useState(props.changed);
  const shown = !narrow || open || Boolean(turns || budget || engine || branch);
  return (
    <>
      {narrow && (
        <Button
          look="quiet"
          aria-expanded={shown}
          onClick={() => setOpen(!shown)}
          className="-ml-2.5 justify-start"
        >
          <Icon name={shown ? "chevronDown" : "chevronRight"} size={14} /> More options
        </Button>
      )}
      {shown && props.children}
    </>
  );
}

function ModelField({ config, problem }: { config: ServerConfig; problem: string | undefined }) {
  const { model, engine, set } = useDraft();
  return (
    <div className="min-w-0">
      <Field label="Model" problem={problem} about={aboutModel(config, model)}>
        {(given) => (
          <Combobox
            given={given}
            label="Models"
            value={model}
            onChange={(next) => set({ model: next })}
            proposals={proposals(config, model)}
            placeholder={defaultModelName(config) || "No model connected"}
          />
        )}
      </Field>
      {engine === "native" && (problem || (!model && isModelNeeded(config, engine))) && (
        <p className="m-0 mt-1 flex flex-wrap gap-x-4 text-small">
          <Link
            to="/settings/$part"
            params={{ part: "models" }}
            className="target text-accent underline underline-offset-2"
          >
            Connect a model
          </Link>
          <button
            type="button"
            className="target text-accent underline"
            onClick={() => set({ model: "demo" })}
          >
            Use the offline demo model
          </button>
        </p>
      )}
    </div>
  );
}

function aboutModel(config: ServerConfig, model: string): string {
  const known = config.models.find((each) => each.alias === model || each.name === model);
  if (known) return known.available ? `${known.label}, ${short(known.context)} tokens` : known.problem;
  if (model) return "Used as typed";
  return config.default_model ? "Default from settings" : "No model connected";
}

function proposals(config: ServerConfig, typed: string): Proposal[] {
  const exact = config.models.some((each) => each.alias === typed);
  return config.models
    .filter((each) => each.alias !== typed && (exact || each.alias.includes(typed)))
    .sort((a, b) => Number(b.available) - Number(a.available))
    .map((each) => ({ value: each.alias, about: each.available ? each.label : "no key" }));
}

function Limits({ config, problems }: { config: ServerConfig; problems: Problems }) {
  const { turns, budget, set } = useDraft();
  return (
    <>
      <Field label="Max steps" about="Model requests per prompt" problem={problems.turns}>
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
      <Field label="Max budget (USD)" problem={problems.budget}>
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

function WorktreeFields({ problem }: { problem: string | undefined }) {
  const { worktree, branch, set } = useDraft();
  return (
    <div className="sm:col-span-3">
      <Switch
        label="Use a separate worktree"
        about="Changes go to a new branch; merge when ready"
        checked={worktree}
        onChange={(next) => set({ worktree: next })}
      />
      {(worktree || problem) && (
        <Field
          label="Branch"
          problem={problem}
          about="Leave empty to generate a name"
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
