/** What runs here, how it stands, and where to look when something is wrong. */
import { api } from "@/api/client";
import { runCommand } from "@/keys/useCommand";
import { engineTitle } from "@/pages/new/engines";
import { Fact } from "@/panels/Section";
import { complain } from "@/state/actions";
import { useApp } from "@/state/app";
import { forgetAll, forgetWords } from "@/state/cache";
import { Button } from "@/ui/Button";
import { bytes, count } from "@/words/format";
import { Group, Part } from "./Part";

export function About() {
  const { config, me, connection } = useApp();
  const leave = async () => {
    try {
      await api.POST("/auth/logout");
      useApp.setState({ entry: "out" });
      forgetWords();
      await forgetAll();
      location.assign("/");
    } catch (error) {
      complain(error);
    }
  };
  return (
    <Part title="About" about="bobstay, an open coding agent. Everything here runs on your own server.">
      <Group title="This server">
        <dl className="m-0 -ml-3 pt-2">
          <Fact name="Version">{config?.version}</Fact>
          <Fact name="Connection">{connection}</Fact>
          <Fact name="Engines">{config?.engine_options.map(engineTitle).join(", ")}</Fact>
          <Fact name="Models">{config?.models.map((model) => model.alias || model.name).join(", ")}</Fact>
          <Fact name="At once">{count(config?.limits.running ?? 0)} agents</Fact>
          <Fact name="Largest message">{bytes(config?.limits.body_bytes ?? 0)}</Fact>
        </dl>
      </Group>
      <Group title="You">
        <dl className="m-0 -ml-3 pt-2">
          <Fact name="Name">{me?.name}</Fact>
          <Fact name="May">{me?.scopes.join(", ")}</Fact>
        </dl>
        <Button className="mt-2" onClick={() => void leave()}>
          Sign out of this browser
        </Button>
      </Group>
      <Group title="When something is wrong">
        <p className="m-0 pt-2 text-ink-2">
          On the server's machine, <code className="font-mono text-code">bobstay doctor</code> looks at keys,
          the sandbox, folders, the port and the database, and says what to do.{" "}
          <code className="font-mono text-code">bobstay reindex</code> makes the tables anew from the logs.
          Sessions are files on that machine: a page that is closed or broken loses nothing.
        </p>
      </Group>
      <Group title="Keyboard">
        <p className="m-0 pt-2">
          <Button command="help" onClick={() => runCommand("help")}>
            Show all keys
          </Button>
        </p>
      </Group>
    </Part>
  );
}
