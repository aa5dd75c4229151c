/** Users and their scopes, and your own password. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { Scope, UserView } from "@/api/types";
import { moment } from "@/format/values";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { confirm } from "@/ui/confirm";
import { Field, INPUT } from "@/ui/Field";
import { toast } from "@/ui/toast";
import { VisibleText } from "@/ui/VisibleText";
import { ScopeBoxes } from "./ScopeBoxes";
import { Group, None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";

export function People() {
  const admin = useApp((state) => hasScope(state.me, "admin"));
  return (
    <SettingsSection
      title="People"
      about="Users sign in with a password; their decisions are recorded under their name."
    >
      {admin ? <Team /> : <None>Only administrators can see the team.</None>}
      <OwnPassword />
    </SettingsSection>
  );
}

function Team() {
  const { data, error } = useQuery({ queryKey: ["users"], queryFn: () => unwrap(api.GET("/auth/users")) });
  const [editing, setEditing] = useState<UserView | null>(null);
  return (
    <>
      {error && <Problem>{errorMessage(error)}</Problem>}
      <Group title="Team">
        <Rows label="Team">
          {data?.users.map((user) => (
            <Person key={user.name} user={user} onEdit={() => setEditing(user)} />
          ))}
        </Rows>
        {data?.users.length === 0 && (
          <None>Only you so far. You signed in with the server's one-time code.</None>
        )}
      </Group>
      <PersonForm key={editing?.name ?? ""} editing={editing} onDone={() => setEditing(null)} />
    </>
  );
}

function Person({ user, onEdit }: { user: UserView; onEdit: () => void }) {
  const queries = useQueryClient();
  const remove = async () => {
    const text = "They are signed out everywhere. Their decisions stay in the log.";
    if (!(await confirm({ title: `Remove ${user.name}?`, text, action: "Remove", danger: true }))) return;
    try {
      await api.DELETE("/auth/users/{name}", { params: { path: { name: user.name } } });
    } catch (error) {
      showError(error);
    }
    await queries.invalidateQueries({ queryKey: ["users"] });
  };
  return (
    <Row
      actions={
        <>
          <Button look="quiet" aria-label={`Change ${user.name}`} onClick={onEdit}>
            Change
          </Button>
          <Button look="quiet" aria-label={`Remove ${user.name}`} onClick={() => void remove()}>
            Remove
          </Button>
        </>
      }
    >
      <p className="m-0 font-medium">
        <VisibleText text={user.name} />
      </p>
      <p className="m-0 text-small text-ink-3">
        {user.scopes.join(", ")}, added {moment(user.created_at * 1000)} by {user.created_by}
        {user.has_password ? "" : ", no password"}
      </p>
    </Row>
  );
}

function PersonForm({ editing, onDone }: { editing: UserView | null; onDone: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(editing?.name ?? "");
  const [password, setPassword] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(editing?.scopes ?? ["read", "operate", "approve"]);
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      const body = { scopes, password: password || null };
      await unwrap(api.PUT("/auth/users/{name}", { params: { path: { name: name.trim() } }, body }));
      toast(editing ? `Changed ${name.trim()}. They have to sign in again.` : `Added ${name.trim()}.`);
      setName("");
      setPassword("");
      onDone();
      await queries.invalidateQueries({ queryKey: ["users"] });
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  return (
    <Group title={editing ? `Change ${editing.name}` : "Add user"}>
      <form
        onSubmit={(event) => void submit(event)}
        className="flex max-w-[560px] flex-col items-start gap-3 pt-3"
      >
        {!editing && (
          <Field className="w-full" label="Name">
            {(given) => (
              <input
                {...given}
                value={name}
                autoComplete="off"
                onChange={(event) => setName(event.target.value)}
                className={INPUT}
              />
            )}
          </Field>
        )}
        <Field
          className="w-full"
          label="Password"
          about={
            editing ? "Leave empty to keep the current password." : "Leave empty for proxy sign-in only."
          }
        >
          {(given) => (
            <input
              {...given}
              type="password"
              value={password}
              autoComplete="new-password"
              onChange={(event) => setPassword(event.target.value)}
              className={INPUT}
            />
          )}
        </Field>
        <ScopeBoxes value={scopes} onChange={setScopes} />
        <div className="flex gap-2">
          <Button look="primary" type="submit" disabled={!name.trim() || scopes.length === 0}>
            {editing ? "Change" : "Add"}
          </Button>
          {editing && (
            <Button look="quiet" onClick={onDone}>
              Cancel
            </Button>
          )}
        </div>
        {problem && <Problem>{problem}</Problem>}
      </form>
    </Group>
  );
}

function OwnPassword() {
  const me = useApp((state) => state.me);
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      const now = await unwrap(api.POST("/auth/password", { body: { old, new: next } }));
      useApp.setState({ me: now });
      setOld("");
      setNext("");
      toast("Changed your password. You are signed out everywhere else.");
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  return (
    <Group title="Your password">
      <form
        onSubmit={(event) => void submit(event)}
        className="flex max-w-[560px] flex-col items-start gap-3 pt-3"
      >
        <p className="m-0 text-ink-2">
          You are {me?.name}. You have no password: you did not sign in with one.
        </p>
        <Field className="w-full" label="Current password">
          {(given) => (
            <input
              {...given}
              type="password"
              autoComplete="current-password"
              value={old}
              onChange={(event) => setOld(event.target.value)}
              className={INPUT}
            />
          )}
        </Field>
        <Field className="w-full" label="New password">
          {(given) => (
            <input
              {...given}
              type="password"
              autoComplete="new-password"
              value={next}
              onChange={(event) => setNext(event.target.value)}
              className={INPUT}
            />
          )}
        </Field>
        <Button type="submit" disabled={!old || !next}>
          Change password
        </Button>
        {problem && <Problem>{problem}</Problem>}
      </form>
    </Group>
  );
}
