/** About: server version, limits, account and troubleshooting. */
import { api } from "@/api/client";
import { bytes, count } from "@/format/values";
import { runCommand } from "@/keys/useCommand";
import { engineTitle } from "@/pages/new/engines";
import { Fact } from "@/panels/Section";
import { showError } from "@/state/actions";
import { useApp } from "@/state/app";
import { clearCache, clearDrafts } from "@/state/cache";
import { Button } from "@/ui/Button";
import { Group, SettingsSection } from "./SettingsSection";

export function About() {
  const { config, me, connection } = useApp();
  const leave = async () => {
    try {
      await api.POST("/auth/logout");
      useApp.setState({ auth: "out" });
      clearDrafts();
      await clearCache();
      location.assign("/");
    } catch (error) {
      showError(error);
    }
  };
  return (
    <SettingsSection
      title="About"
      about="bobstay, an open coding agent. Everything here runs on your own server."
    >
      <Group title="This server">
        <dl className="m-0 -ml-3 pt-2">
          <Fact name="Version">{config?.version}</Fact>
          <Fact name="Connection">{connection}</Fact>
          <Fact name="Engines">{config?.engine_options.map(engineTitle).join(", ")}</Fact>
          <Fact name="Models">{config?.models.map((model) => model.alias || model.name).join(", ")}</Fact>
          <Fact name="Concurrent agents">{count(config?.limits.running ?? 0)}</Fact>
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
      <Group title="Troubleshooting">
        <p className="m-0 pt-2 text-ink-2">
          On the server, <code className="font-mono text-code">bobstay doctor</code> checks keys, the sandbox,
          folders, the port and the database, and says what to do.{" "}
          <code className="font-mono text-code">bobstay reindex</code> rebuilds the database from the logs.
          Sessions are stored on the server: closing the page loses nothing.
        </p>
      </Group>
      <Group title="Keyboard">
        <p className="m-0 pt-2">
          <Button command="help" onClick={() => runCommand("help")}>
            Show keyboard shortcuts
          </Button>
        </p>
      </Group>
    </SettingsSection>
  );
}
