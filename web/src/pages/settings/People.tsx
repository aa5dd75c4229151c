/** People of the team: who they are, what they may do; and one's own password. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, said, wordsOf } from "@/api/client";
import type { Scope, UserView } from "@/api/types";
import { confirm } from "@/shell/confirm";
import { complain } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Field, INPUT } from "@/ui/Field";
import { Shown } from "@/ui/Hidden";
import { toast } from "@/ui/toast";
import { moment } from "@/words/format";
import { Group, None, Part, Problem, Row, Rows } from "./Part";
import { ScopeBoxes } from "./ScopeBoxes";

export function People() {
  const admin = useApp((state) => may(state.me, "admin"));
  return (
    <Part
      title="People"
      about="Named people sign in with a password, and what they decide is written under their name."
    >
      {admin ? <Team /> : <None>Who is in the team is told to whoever has the scope admin.</None>}
      <OwnPassword />
    </Part>
  );
}

function Team() {
  const { data, error } = useQuery({ queryKey: ["users"], queryFn: () => said(api.GET("/auth/users")) });
  const [editing, setEditing] = useState<UserView | null>(null);
  return (
    <>
      {error && <Problem>{wordsOf(error)}</Problem>}
      <Group title="Team">
        <Rows label="Team">
          {data?.users.map((user) => (
            <Person key={user.name} user={user} onEdit={() => setEditing(user)} />
          ))}
        </Rows>
        {data?.users.length === 0 && <None>Only you so far. You came in by the server's own code.</None>}
      </Group>
      <PersonForm key={editing?.name ?? ""} editing={editing} onDone={() => setEditing(null)} />
    </>
  );
}

function Person({ user, onEdit }: { user: UserView; onEdit: () => void }) {
  const queries = useQueryClient();
  const remove = async () => {
    const words = "All they have open is closed. What they decided stays in the log.";
    if (!(await confirm({ title: `Remove ${user.name}?`, words, action: "Remove", danger: true }))) return;
    try {
      await api.DELETE("/auth/users/{name}", { params: { path: { name: user.name } } });
    } catch (error) {
      complain(error);
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
        <Shown text={user.name} />
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
      await said(api.PUT("/auth/users/{name}", { params: { path: { name: name.trim() } }, body }));
      toast(editing ? `Changed ${name.trim()}. They have to sign in again.` : `Added ${name.trim()}.`);
      setName("");
      setPassword("");
      onDone();
      await queries.invalidateQueries({ queryKey: ["users"] });
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  return (
    <Group title={editing ? `Change ${editing.name}` : "Add somebody"}>
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
            editing ? "Empty: they keep the one they have." : "Empty: they come in by a reverse proxy only."
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
      const now = await said(api.POST("/auth/password", { body: { old, new: next } }));
      useApp.setState({ me: now });
      setOld("");
      setNext("");
      toast("Changed your password. You are signed out everywhere else.");
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  return (
    <Group title="Your password">
      <form
        onSubmit={(event) => void submit(event)}
        className="flex max-w-[560px] flex-col items-start gap-3 pt-3"
      >
        <p className="m-0 text-ink-2">
          You are {me?.name}. Only who signs in with a name and a password has one to change.
        </p>
        <Field className="w-full" label="Now">
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
        <Field className="w-full" label="From now on">
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
          Change the password
        </Button>
        {problem && <Problem>{problem}</Problem>}
      </form>
    </Group>
  );
}
