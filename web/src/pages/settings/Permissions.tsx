/** Permission rules of a directory: meaning, source, and editing. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { RuleView } from "@/api/types";
import { PathName } from "@/panels/PathName";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button, IconButton } from "@/ui/Button";
import { Field, INPUT } from "@/ui/Field";
import { Icon } from "@/ui/Icon";
import { Select } from "@/ui/Select";
import { toast } from "@/ui/toast";
import { VisibleText } from "@/ui/VisibleText";
import { DirectoryChoice, useDirectory } from "./Directory";
import { ruleText } from "./ruleText";
import { Group, None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";
import { Trust } from "./Trust";

type Behavior = "allow" | "ask" | "deny";
type Scope = "local" | "project" | "user";

const BEHAVIORS: { value: Behavior; title: string; sign: string; colour: string }[] = [
  { value: "deny", title: "Always deny", sign: "✗", colour: "text-failed" },
  { value: "ask", title: "Always ask", sign: "◆", colour: "text-needs" },
  { value: "allow", title: "Always allow", sign: "✓", colour: "text-done" },
];
const SCOPES: { value: Scope; label: string; about: string }[] = [
  { value: "local", label: "This project, on this machine", about: "Not shared with others." },
  { value: "project", label: "This project", about: "In a project file, shared with others." },
  { value: "user", label: "Everywhere", about: "For you, in all projects." },
];

export function Permissions() {
  const cwd = useDirectory((state) => state.path);
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const { data, error } = useQuery({
    queryKey: ["rules", cwd],
    queryFn: () => unwrap(api.GET("/permission-rules", { params: { query: { cwd } } })),
    enabled: cwd !== "",
  });
  return (
    <SettingsSection
      title="Permissions"
      about="Deny rules come first, then ask, then allow. Without a matching rule, the session's permission mode decides."
    >
      <DirectoryChoice />
      {cwd && <Trust cwd={cwd} />}
      {error && <Problem>{errorMessage(error)}</Problem>}
      {data &&
        BEHAVIORS.map(({ value, title, sign, colour }) => {
          const rules = data.rules.filter((rule) => rule.behavior === value);
          return (
            <Group key={value} title={title}>
              <Rows label={title}>
                {rules.map((rule) => (
                  <Rule
                    key={`${rule.source}/${rule.file}/${rule.rule}`}
                    cwd={cwd}
                    rule={rule}
                    sign={sign}
                    colour={colour}
                    admin={admin}
                  />
                ))}
              </Rows>
              {rules.length === 0 && <None>No rules.</None>}
            </Group>
          );
        })}
      {cwd && admin && <AddRule cwd={cwd} />}
      {cwd && !admin && <None>Only administrators can change rules.</None>}
    </SettingsSection>
  );
}

/** The scope a rule can be removed from here. */
function scopeOf(source: string): Scope | "" {
  const name = source.replace(/Settings$/, "");
  return name === "user" || name === "project" || name === "local" ? name : "";
}

function useRules(cwd: string) {
  const queries = useQueryClient();
  return async (how: "POST" | "DELETE", rule: string, behavior: Behavior, scope: Scope): Promise<boolean> => {
    try {
      const body = { cwd, rule, behavior, scope };
      const list =
        how === "POST"
          ? await unwrap(api.POST("/permission-rules", { body }))
          : await unwrap(api.DELETE("/permission-rules", { body }));
      queries.setQueryData(["rules", cwd], list);
      const counts = list.rules.some((each) => each.rule === rule && each.behavior === behavior);
      if (how === "POST" && !counts && !list.trusted)
        toast(`${rule} added. It takes effect after you trust this directory.`);
      return true;
    } catch (error) {
      showError(error);
      return false;
    }
  };
}

interface RuleProps {
  cwd: string;
  rule: RuleView;
  sign: string;
  colour: string;
  admin: boolean;
}

function Rule({ cwd, rule, sign, colour, admin }: RuleProps) {
  const change = useRules(cwd);
  const scope = scopeOf(rule.source);
  const behavior = rule.behavior as Behavior;
  const remove = async () => {
    if (!scope || !(await change("DELETE", rule.rule, behavior, scope))) return;
    toast(`Removed ${rule.rule}.`, {
      action: { label: "Undo", onClick: () => void change("POST", rule.rule, behavior, scope) },
    });
  };
  return (
    <Row
      actions={
        admin &&
        scope && (
          <IconButton label={`Remove ${rule.rule}`} onClick={() => void remove()}>
            <Icon name="trash" size={14} />
          </IconButton>
        )
      }
    >
      <p className="m-0 flex flex-wrap items-baseline gap-x-2">
        <span aria-hidden="true" className={colour}>
          {sign}
        </span>
        <code className="font-mono text-code break-all">
          <VisibleText text={rule.rule} />
        </code>
        <span className="text-ink-2">{ruleText(rule.rule)}</span>
      </p>
      <p className="m-0 flex min-w-0 gap-2 pl-5 text-small text-ink-3">
        <span className="shrink-0">{rule.source}</span>
        {rule.file && <PathName path={rule.file} className="text-small" />}
      </p>
      {rule.warning && <p className="m-0 pl-5 text-small text-needs">{rule.warning}</p>}
    </Row>
  );
}

function AddRule({ cwd }: { cwd: string }) {
  const [rule, setRule] = useState("");
  const [behavior, setBehavior] = useState<Behavior>("allow");
  const [scope, setScope] = useState<Scope>("local");
  const change = useRules(cwd);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await change("POST", rule.trim(), behavior, scope)) setRule("");
  };
  const meaning = rule.trim() ? ruleText(rule.trim()) : "";
  return (
    <Group title="Add a rule">
      <form
        onSubmit={(event) => void submit(event)}
        className="grid grid-cols-[9rem_1fr_16rem_auto] items-start gap-3 pt-3 max-lg:grid-cols-1"
      >
        <Field label="Behavior">
          {(given) => (
            <Select
              {...given}
              label="Behavior"
              value={behavior}
              choices={[
                { value: "allow", label: "Allow" },
                { value: "ask", label: "Ask" },
                { value: "deny", label: "Deny" },
              ]}
              onChange={setBehavior}
            />
          )}
        </Field>
        <Field
          label="Rule"
          about={
            meaning
              ? `${behavior === "allow" ? "Allows" : behavior === "ask" ? "Asks about" : "Denies"} ${meaning}.`
              : "Tool, or Tool(pattern)"
          }
        >
          {(given) => (
            <input
              {...given}
              value={rule}
              placeholder="Bash(pytest *)"
              onChange={(event) => setRule(event.target.value)}
              className={`${INPUT} font-mono`}
            />
          )}
        </Field>
        <Field label="Scope" about={SCOPES.find((each) => each.value === scope)?.about}>
          {(given) => <Select {...given} label="Scope" value={scope} choices={SCOPES} onChange={setScope} />}
        </Field>
        <Button look="primary" type="submit" disabled={!rule.trim()} className="mt-6 h-8 max-lg:mt-0">
          Add
        </Button>
      </form>
    </Group>
  );
}
