/** Models: providers with the source of their keys, the default model, and model servers on the server's machine. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, said, wordsOf } from "@/api/client";
import type { LocalServer, ProviderList, ProviderView } from "@/api/types";
import { defaultModelName } from "@/composer/modes";
import { learnConfig } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Combo } from "@/ui/Combo";
import { Field, INPUT } from "@/ui/Field";
import { Shown } from "@/ui/Hidden";
import { toast } from "@/ui/toast";
import { plural } from "@/words/format";
import { Group, None, Part, Problem, Row, Rows } from "./Part";

const KEY = ["providers"];

export function Models() {
  const admin = useApp((state) => may(state.me, "admin"));
  if (!admin)
    return (
      <Part title="Models">
        <None>Only an administrator can see and change keys.</None>
      </Part>
    );
  return <Connected />;
}

function Connected() {
  const { data, error } = useQuery({ queryKey: KEY, queryFn: () => said(api.GET("/providers")) });
  const change = useChange();
  const [local, setLocal] = useState<LocalServer[] | null>(null);
  return (
    <Part
      title="Models"
      about="Paste a key to connect a provider, or use a model server on this machine. Keys stay on the server and are never shown again."
    >
      {error && <Problem>{wordsOf(error)}</Problem>}
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
    </Part>
  );
}

type Change = (asked: Promise<ProviderList>) => Promise<void>;

/** What the server answers is shown at once, and what the page knows of models is asked for again. */
function useChange(): Change {
  const queries = useQueryClient();
  return async (asked) => {
    queries.setQueryData(KEY, await asked);
    await learnConfig();
  };
}

function setDefault(model: string): Promise<ProviderList> {
  return said(api.PUT("/default-model", { body: { model } }));
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
      setProblem(wordsOf(error));
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
          <Combo
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
  const [verdict, setVerdict] = useState<{ good: boolean; words: string } | null>(null);
  const { name, label } = provider;
  const path = { params: { path: { name } } };
  const attempt = async (work: () => Promise<void>) => {
    setVerdict(null);
    try {
      await work();
    } catch (error) {
      setVerdict({ good: false, words: wordsOf(error) });
    }
  };
  /** An empty key stands for the one that is used now. */
  const test = async (key: string) => {
    setVerdict({ good: true, words: "Testing…" });
    const { accepted, problem } = await said(api.POST("/providers/{name}/test", { ...path, body: { key } }));
    setVerdict({
      good: accepted,
      words: accepted ? "Key accepted" : key ? `Not saved. ${problem}` : problem,
    });
    return accepted;
  };
  /** A key that is refused is not stored, unless somebody knows better: the provider may be out of reach just now. */
  const save = (key: string, anyway: boolean) =>
    attempt(async () => {
      if (!anyway && !(await test(key))) return;
      const kept = said(api.PUT("/providers/{name}/key", { ...path, body: { key } }));
      await kept;
      setOpen(false); // at once: what is stored is not shown any more
      await change(kept);
    });
  const remove = () => attempt(() => change(said(api.DELETE("/providers/{name}/key", path))));
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
              setVerdict(null);
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
      {verdict && (
        <span
          role={verdict.good ? "status" : "alert"}
          className={`block text-small ${verdict.good ? "text-ink-2" : "text-failed"}`}
        >
          <Shown text={verdict.words} />
        </span>
      )}
      {open && <KeyForm label={label} refused={verdict?.good === false} onSave={save} />}
    </Row>
  );
}

interface KeyFormProps {
  label: string;
  /** The key that was tried last was not accepted. */
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
        // biome-ignore lint/a11y/noAutofocus: somebody has just asked for this field
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
      onFound((await said(api.POST("/local-models"))).servers);
    } catch (error) {
      setProblem(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  const use = async (model: string) => {
    try {
      await change(setDefault(model));
      toast(`Default model: ${model}`);
    } catch (error) {
      setProblem(wordsOf(error));
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
                  <Button key={model} tip="Use as default" onClick={() => void use(model)}>
                    <Shown text={model} />
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
