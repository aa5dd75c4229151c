/** Authentication gate: renders the page once signed in, else the sign-in form or an error. */
import { type FormEvent, type ReactNode, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import { useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { codeFrom, signIn } from "./signIn";

const FIELD = "h-8 w-full min-w-0 rounded-box border border-line-strong bg-surface-1 px-2";

export function AuthGate({ children }: { children: ReactNode }) {
  const entry = useApp((state) => state.auth);
  const known = useApp((state) => state.me !== null);
  if (entry === "in" || (known && entry !== "out")) return children;
  if (entry === "checking") return <main aria-busy="true" className="h-full" />;
  return (
    <main className="flex h-full items-center justify-center p-6">
      <div className="flex w-full max-w-104 flex-col gap-4">
        <h1 className="m-0 text-[20px] leading-7 font-semibold">bobstay</h1>
        {entry === "down" ? <ServerDown /> : <SignedOut />}
      </div>
    </main>
  );
}

function ServerDown() {
  return (
    <>
      <p className="m-0">The server is not responding.</p>
      <p className="m-0 text-ink-2">
        Start it with <code className="font-mono text-code">bobstay serve</code> and try again. Sessions are
        kept on the server's disk: nothing is lost.
      </p>
      <Button look="primary" onClick={() => void signIn()}>
        Try again
      </Button>
    </>
  );
}

function SignedOut() {
  const problem = useApp((state) => state.problem);
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void signIn(codeFrom(text));
  };
  return (
    <>
      <p className="m-0">
        Open the link that the server printed when it started, or paste it here. For a new code, run{" "}
        <code className="font-mono text-code">bobstay token code</code> on the server.
      </p>
      <form aria-label="Sign in" onSubmit={submit} className="flex flex-col gap-2">
        <div className="flex gap-2">
          <input
            // biome-ignore lint/a11y/noAutofocus: there is nothing else to do here
            autoFocus
            aria-label="Sign-in code"
            autoComplete="one-time-code"
            spellCheck={false}
            autoCapitalize="off"
            placeholder="Link or code"
            value={text}
            onChange={(event) => setText(event.target.value)}
            className={`${FIELD} font-mono text-code`}
          />
          <Button look="primary" type="submit" disabled={!codeFrom(text)} className="h-8">
            Sign in
          </Button>
        </div>
        {problem && (
          <p role="alert" className="m-0 text-failed">
            {problem}
          </p>
        )}
      </form>
      <PasswordForm />
    </>
  );
}

function PasswordForm() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await unwrap(api.POST("/auth/login", { body: { name, password, label: "" } }));
      await signIn();
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
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
          className={FIELD}
        />
        <input
          aria-label="Password"
          type="password"
          autoComplete="current-password"
          placeholder="Password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          className={FIELD}
        />
        {problem && (
          <p role="alert" className="m-0 text-failed">
            {problem}
          </p>
        )}
        <Button look="primary" type="submit" disabled={!name || !password}>
          Sign in with password
        </Button>
      </form>
    </details>
  );
}
