/** Models: providers and their keys, the default model, and local model servers. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { LocalServer, ProviderList, ProviderView } from "@/api/types";
import { plural } from "@/format/values";
import { reloadConfig } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { defaultModelName } from "@/state/modes";
import { Button } from "@/ui/Button";
import { Combobox } from "@/ui/Combobox";
import { Field, INPUT } from "@/ui/Field";
import { toast } from "@/ui/toast";
import { VisibleText } from "@/ui/VisibleText";
import { Group, None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";

const KEY = ["providers"];

export function Models() {
  const admin = useApp((state) => hasScope(state.me, "admin"));
  if (!admin)
    return (
      <SettingsSection title="Models">
        <None>Only administrators can see and change keys.</None>
      </SettingsSection>
    );
  return <Connected />;
}

function Connected() {
  const { data, error } = useQuery({ queryKey: KEY, queryFn: () => unwrap(api.GET("/providers")) });
  const change = useChange();
  const [local, setLocal] = useState<LocalServer[] | null>(null);
  return (
    <SettingsSection
      title="Models"
      about="Paste a key to connect a provider, or use a model server on this machine. Keys stay on the server and are never shown again."
    >
      {error && <Problem>{errorMessage(error)}</Problem>}
      {data?.warning && <Problem>{data.warning}</Problem>}
      {data && (
        <>
          <Default list={data} local={local ?? []} change={change} />
          <Group title="Providers">
            <Rows label="Providers">
              {data.providers.map((each) => (
                <Provider key={each.name} provider={each} change={change} />
              ))}
            </Rows>
          </Group>
          <Local found={local} onFound={setLocal} change={change} />
        </>
      )}
    </SettingsSection>
  );
}

type Change = (asked: Promise<ProviderList>) => Promise<void>;

/** Shows the server's response at once and reloads the configuration. */
function useChange(): Change {
  const queries = useQueryClient();
  return async (asked) => {
    queries.setQueryData(KEY, await asked);
    await reloadConfig();
  };
}

function setDefault(model: string): Promise<ProviderList> {
  return unwrap(api.PUT("/default-model", { body: { model } }));
}

function Default({ list, local, change }: { list: ProviderList; local: LocalServer[]; change: Change }) {
  const models = useApp((state) => state.config?.models ?? []);
  const [model, setModel] = useState(list.chosen_model);
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      await change(setDefault(model.trim()));
      toast(model.trim() ? `Default model: ${model.trim()}` : "Default model cleared");
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  const known = models
    .filter((each) => each.available)
    .map((each) => ({ value: each.alias, about: each.label }));
  const found = local.flatMap((server) => server.models.map((value) => ({ value, about: server.url })));
  const about = list.environment_model
    ? `The server's environment names ${list.environment_model}, which takes precedence.`
    : list.default_model
      ? `New sessions use ${defaultModelName({ default_model: list.default_model, models })}.`
      : "No model connected.";
  return (
    <form onSubmit={(event) => void submit(event)} className="flex max-w-[560px] items-start gap-2">
      <Field label="Default model" about={about} problem={problem} className="flex-1">
        {(given) => (
          <Combobox
            given={given}
            label="Models"
            value={model}
            onChange={setModel}
            proposals={[...known, ...found].filter(
              (each) => each.value.includes(model) && each.value !== model,
            )}
            placeholder="First connected model"
          />
        )}
      </Field>
      <Button type="submit" className="mt-6 h-8" disabled={model.trim() === list.chosen_model}>
        Save
      </Button>
    </form>
  );
}

function stateOf(provider: ProviderView): string {
  switch (provider.key) {
    case "environment":
      return `Key from ${provider.source}`;
    case "settings":
      return `Key in ${provider.source}`;
    case "helper":
      return `Key from ${provider.source}`;
    case "stored":
      return provider.source === "keyring" ? "Key stored in the keyring" : "Key stored";
    case "none":
      return provider.local ? "No key needed" : "No key";
  }
}

function Provider({ provider, change }: { provider: ProviderView; change: Change }) {
  const [open, setOpen] = useState(false);
  const [testResult, setTestResult] = useState<{ good: boolean; text: string } | null>(null);
  const { name, label } = provider;
  const path = { params: { path: { name } } };
  const attempt = async (work: () => Promise<void>) => {
    setTestResult(null);
    try {
      await work();
    } catch (error) {
      setTestResult({ good: false, text: errorMessage(error) });
    }
  };
  /** An empty key tests the current one. */
  const test = async (key: string) => {
    setTestResult({ good: true, text: "Testing…" });
    const { accepted, problem } = await unwrap(
      api.POST("/providers/{name}/test", { ...path, body: { key } }),
    );
    setTestResult({
      good: accepted,
      text: accepted ? "Key accepted" : key ? `Not saved. ${problem}` : problem,
    });
    return accepted;
  };
  /** A refused key is not stored unless forced: the provider may be unreachable. */
  const save = (key: string, anyway: boolean) =>
    attempt(async () => {
      if (!anyway && !(await test(key))) return;
      const kept = unwrap(api.PUT("/providers/{name}/key", { ...path, body: { key } }));
      await kept;
      setOpen(false); // at once: a stored key is not shown any more
      await change(kept);
    });
  const remove = () => attempt(() => change(unwrap(api.DELETE("/providers/{name}/key", path))));
  const connected = provider.key !== "none";
  const act = open ? "Cancel" : provider.stored ? "Replace key" : "Add key";
  return (
    <Row
      actions={
        <>
          {connected && (
            <Button
              aria-label={`Test ${label}`}
              onClick={() => void attempt(async () => void (await test("")))}
            >
              Test
            </Button>
          )}
          {provider.stored && (
            <Button look="quiet" aria-label={`Remove key: ${label}`} onClick={() => void remove()}>
              Remove key
            </Button>
          )}
          <Button
            look={open ? "quiet" : "plain"}
            aria-label={`${act}: ${label}`}
            aria-expanded={open}
            onClick={() => {
              setOpen(!open);
              setTestResult(null);
            }}
          >
            {act}
          </Button>
        </>
      }
    >
      <span className="font-medium">{label}</span>
      <span className={`ml-2 text-small ${connected ? "text-done" : "text-ink-3"}`}>
        {connected && "✓ "}
        {stateOf(provider)}
      </span>
      {testResult && (
        <span
          role={testResult.good ? "status" : "alert"}
          className={`block text-small ${testResult.good ? "text-ink-2" : "text-failed"}`}
        >
          <VisibleText text={testResult.text} />
        </span>
      )}
      {open && <KeyForm label={label} refused={testResult?.good === false} onSave={save} />}
    </Row>
  );
}

interface KeyFormProps {
  label: string;
  /** The last tested key was refused. */
  refused: boolean;
  onSave: (key: string, anyway: boolean) => Promise<void>;
}

function KeyForm({ label, refused, onSave }: KeyFormProps) {
  const [key, setKey] = useState("");
  const [tried, setTried] = useState("");
  const [busy, setBusy] = useState(false);
  const save = async (anyway: boolean) => {
    setBusy(true);
    setTried(key);
    await onSave(key.trim(), anyway);
    setBusy(false);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save(false);
  };
  return (
    <form onSubmit={submit} className="mt-2 mb-1 flex max-w-[480px] gap-2">
      <input
        // biome-ignore lint/a11y/noAutofocus: the user has just opened this field
        autoFocus
        type="password"
        autoComplete="off"
        aria-label={`Key of ${label}`}
        placeholder="Paste a key"
        value={key}
        onChange={(event) => setKey(event.target.value)}
        className={INPUT}
      />
      <Button look="primary" type="submit" disabled={busy || !key.trim()} className="h-8">
        Save key
      </Button>
      {refused && !busy && tried !== "" && tried === key && (
        <Button className="h-8 shrink-0" onClick={() => void save(true)}>
          Save anyway
        </Button>
      )}
    </form>
  );
}

interface LocalProps {
  found: LocalServer[] | null;
  onFound: (servers: LocalServer[]) => void;
  change: Change;
}

function Local({ found, onFound, change }: LocalProps) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const look = async () => {
    setBusy(true);
    setProblem("");
    try {
      onFound((await unwrap(api.POST("/local-models"))).servers);
    } catch (error) {
      setProblem(errorMessage(error));
    } finally {
      setBusy(false);
    }
  };
  const use = async (model: string) => {
    try {
      await change(setDefault(model));
      toast(`Default model: ${model}`);
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  return (
    <Group title="On this machine">
      <div className="py-2">
        <Button onClick={() => void look()} disabled={busy}>
          {busy ? "Looking…" : "Find local servers"}
        </Button>
      </div>
      {problem && <Problem>{problem}</Problem>}
      {found?.length === 0 && <None>No Ollama, LM Studio, vLLM or llama.cpp server answered.</None>}
      {found && found.length > 0 && (
        <Rows label="Local servers">
          {found.map((server) => (
            <Row key={server.provider}>
              <span className="font-medium">{server.provider}</span>
              <span className="ml-2 text-small text-ink-3">
                {server.url}, {plural(server.models.length, "model")}
              </span>
              <span className="mt-1 flex flex-wrap gap-1">
                {server.models.slice(0, 12).map((model) => (
                  <Button key={model} tooltip="Use as default" onClick={() => void use(model)}>
                    <VisibleText text={model} />
                  </Button>
                ))}
              </span>
            </Row>
          ))}
        </Rows>
      )}
    </Group>
  );
}
