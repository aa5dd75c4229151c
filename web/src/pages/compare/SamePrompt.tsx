/** Starts several sessions with the same prompt and different models or modes, each in its own worktree. */
import { type FormEvent, useEffect, useState } from "react";
import { errorMessage } from "@/api/client";
import type { PermissionMode, ServerConfig, Workflow } from "@/api/types";
import { createSession } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { BYPASS, type Choice, modelChoices, permissionChoices, workflowChoices } from "@/state/modes";
import { Button, IconButton } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Icon } from "@/ui/Icon";
import { Select } from "@/ui/Select";
import { Switch } from "@/ui/Switch";
import { DirectoryField, useRecentDirectories } from "../new/DirectoryField";
import { MOST } from "./ChangesSideBySide";

export interface Runner {
  model: string;
  workflow: Workflow;
  permission: string;
}

export function SamePrompt({ onBegun }: { onBegun: (ids: string[]) => void }) {
  const config = useApp((state) => state.config);
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  if (!config || !allowed) return null;
  return <Form config={config} onBegun={onBegun} />;
}

function firstRunners(config: ServerConfig): Runner[] {
  const [one, two] = config.models.filter((model) => model.available);
  const first: Runner = { model: one?.alias ?? "", workflow: "implement", permission: "acceptEdits" };
  return [first, { ...first, model: two?.alias ?? first.model }];
}

function Form({ config, onBegun }: { config: ServerConfig; onBegun: (ids: string[]) => void }) {
  const [prompt, setPrompt] = useState("");
  const [cwd, setCwd] = useRecentFirst();
  const [runners, setRunners] = useState(() => firstRunners(config));
  const [worktree, setWorktree] = useState(true);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const change = (at: number, next: Partial<Runner>) =>
    setRunners(runners.map((each, index) => (index === at ? { ...each, ...next } : each)));
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    const { ids, problems } = await begin(prompt.trim(), cwd.trim(), runners, worktree);
    setBusy(false);
    if (problems.length > 0) setProblem([...new Set(problems)].join(" "));
    if (ids.length > 1 || (ids.length > 0 && problems.length === 0)) onBegun(ids);
  };
  return (
    <section aria-label="Run the same prompt" className="flex flex-col gap-3">
      <h2 className="m-0 text-prose font-semibold">Run the same prompt with different models or modes</h2>
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-3">
        <Field label="Prompt">
          {(given) => (
            <textarea
              {...given}
              rows={4}
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
              className="w-full resize-y rounded-box border border-line-strong bg-surface-1 px-2 py-1 text-prose"
            />
          )}
        </Field>
        <DirectoryField value={cwd} onChange={setCwd} problem={undefined} />
        {runners.map((runner, index) => (
          <RunnerLine
            // biome-ignore lint/suspicious/noArrayIndexKey: rows do not move
            key={index}
            number={index + 1}
            config={config}
            runner={runner}
            onChange={(next) => change(index, next)}
            {...(runners.length > 2
              ? { onRemove: () => setRunners(runners.filter((_, at) => at !== index)) }
              : {})}
          />
        ))}
        <Switch
          label="Each in its own worktree"
          about="Sessions start from the same commit and do not see each other's changes. Otherwise all write to one directory."
          checked={worktree}
          onChange={setWorktree}
        />
        <div className="flex gap-2">
          <Button look="primary" type="submit" disabled={busy || !prompt.trim() || !cwd.trim()}>
            Run {runners.length} sessions
          </Button>
          <Button
            look="quiet"
            disabled={runners.length >= MOST}
            icon={<Icon name="plus" size={14} />}
            onClick={() => setRunners([...runners, runners.at(-1) as Runner])}
          >
            Add session
          </Button>
        </div>
        {problem && (
          <p role="alert" className="m-0 text-failed">
            {problem}
          </p>
        )}
      </form>
    </section>
  );
}

function useRecentFirst(): [string, (path: string) => void] {
  const recent = useRecentDirectories().data?.[0]?.path ?? "";
  const [path, setPath] = useState("");
  useEffect(() => {
    if (recent) setPath((before) => before || recent);
  }, [recent]);
  return [path, setPath];
}

/** One by one: sessions that started are kept if a later one fails. */
async function begin(prompt: string, cwd: string, runners: readonly Runner[], worktree: boolean) {
  const ids: string[] = [];
  const problems: string[] = [];
  for (const { model, workflow, permission } of runners) {
    try {
      const wanted = {
        cwd,
        prompt,
        model,
        workflow,
        permission_mode: permission as PermissionMode,
        worktree,
      };
      ids.push((await createSession({ ...wanted, client_id: crypto.randomUUID() })).id);
    } catch (error) {
      problems.push(errorMessage(error));
    }
  }
  return { ids, problems };
}

interface RunnerProps {
  number: number;
  config: ServerConfig;
  runner: Runner;
  onChange: (next: Partial<Runner>) => void;
  onRemove?: () => void;
}

function RunnerLine({ number, config, runner, onChange, onRemove }: RunnerProps) {
  return (
    <fieldset
      aria-label={`Session ${number}`}
      className="m-0 grid grid-cols-[1fr_1fr_1fr_28px] items-end gap-2 border-0 p-0 max-md:grid-cols-1"
    >
      <Select
        label={`Model of session ${number}`}
        value={runner.model}
        choices={modelChoices(config)}
        onChange={(model) => onChange({ model })}
      />
      <Select
        label={`Mode of session ${number}`}
        value={runner.workflow}
        choices={workflowChoices(config, false) as (Choice & { value: Workflow })[]}
        onChange={(next) => onChange({ workflow: next })}
      />
      <Select
        label={`Permissions of session ${number}`}
        value={runner.permission}
        choices={permissionChoices(config, runner.workflow).filter((each) => each.value !== BYPASS)}
        onChange={(permission) => onChange({ permission })}
      />
      {onRemove ? (
        <IconButton label={`Remove session ${number}`} onClick={onRemove}>
          <Icon name="close" size={14} />
        </IconButton>
      ) : (
        <span />
      )}
    </fieldset>
  );
}
