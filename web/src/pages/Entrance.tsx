/** Stands before the page until one is in: checking, signed out, or no server. */
import { type FormEvent, type ReactNode, useState } from "react";
import { api, said, wordsOf } from "@/api/client";
import { useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { enter } from "./enter";

export function Entrance({ children }: { children: ReactNode }) {
  const entry = useApp((state) => state.entry);
  const known = useApp((state) => state.me !== null);
  if (entry === "in" || (known && entry !== "out")) return children;
  if (entry === "checking") return <main aria-busy="true" className="h-full" />;
  return (
    <main className="flex h-full items-center justify-center p-6">
      <div className="w-full max-w-104 space-y-4">
        <h1 className="m-0 text-[20px] leading-7 font-semibold">bobstay</h1>
        {entry === "down" ? <Down /> : <Out />}
      </div>
    </main>
  );
}

function Down() {
  return (
    <>
      <p className="m-0">The server does not answer.</p>
      <p className="m-0 text-ink-2">
        Start it with <code className="font-mono text-code">bobstay serve</code> and try again. Sessions are
        kept on the server's disk: nothing is lost.
      </p>
      <Button look="primary" onClick={() => void enter()}>
        Try again
      </Button>
    </>
  );
}

function Out() {
  const problem = useApp((state) => state.problem);
  return (
    <>
      <p className="m-0">You are not signed in on this browser.</p>
      {problem && <p className="m-0 text-ink-2">{problem}</p>}
      <p className="m-0 text-ink-2">
        Open the address that <code className="font-mono text-code">bobstay serve</code> printed: it has a
        code that is good once. On a device that is signed in, Settings → Devices makes another.
      </p>
      <SignIn />
    </>
  );
}

function SignIn() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await said(api.POST("/auth/login", { body: { name, password, label: "" } }));
      await enter();
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  const field = "h-8 w-full rounded-box border border-line bg-surface-1 px-2";
  return (
    <details>
      <summary className="text-ink-2">Sign in with a name and a password</summary>
      <form onSubmit={(event) => void submit(event)} className="mt-3 space-y-2">
        <input
          aria-label="Name"
          autoComplete="username"
          placeholder="Name"
          value={name}
          onChange={(event) => setName(event.target.value)}
          className={field}
        />
        <input
          aria-label="Password"
          type="password"
          autoComplete="current-password"
          placeholder="Password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          className={field}
        />
        {problem && (
          <p role="alert" className="m-0 text-failed">
            {problem}
          </p>
        )}
        <Button look="primary" type="submit" disabled={!name || !password}>
          Sign in
        </Button>
      </form>
    </details>
  );
}
