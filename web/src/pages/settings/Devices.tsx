/** Devices: signed-in browsers and tokens, with revocation, and codes for new devices. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, errorMessage, unwrap } from "@/api/client";
import type { ClientView } from "@/api/types";
import { ago, moment } from "@/format/values";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { confirm } from "@/ui/confirm";
import { VisibleText } from "@/ui/VisibleText";
import { NewDevice } from "./NewDevice";
import { Group, None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";

export function Devices() {
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const { data, error } = useQuery({
    queryKey: ["clients"],
    queryFn: () => unwrap(api.GET("/auth/clients")),
    staleTime: 0,
  });
  return (
    <SettingsSection
      title="Devices"
      about="Signed-in browsers and tokens. Revoking one signs it out at once."
    >
      {error && <Problem>{errorMessage(error)}</Problem>}
      {admin ? <NewDevice /> : <None>Only administrators can add devices.</None>}
      <Group title="Signed-in devices">
        <Rows label="Devices">
          {data?.clients.map((client) => (
            <Device key={client.id} client={client} />
          ))}
        </Rows>
      </Group>
    </SettingsSection>
  );
}

function Device({ client }: { client: ClientView }) {
  const queries = useQueryClient();
  const revoke = async () => {
    const meant =
      !client.current ||
      (await confirm({
        title: "Sign out this browser?",
        text: "You are signed out at once and need a new code to sign in again.",
        action: "Revoke",
        danger: true,
      }));
    if (!meant) return;
    try {
      await api.DELETE("/auth/clients/{id}", { params: { path: { id: client.id } } });
    } catch (error) {
      showError(error);
    }
    await queries.invalidateQueries({ queryKey: ["clients"] });
  };
  return (
    <Row
      actions={
        <Button
          look="quiet"
          aria-label={`Revoke ${client.label || client.who}`}
          onClick={() => void revoke()}
        >
          Revoke
        </Button>
      }
    >
      <p className="m-0 flex flex-wrap items-baseline gap-x-2">
        <span className="font-medium">
          <VisibleText text={client.label || (client.kind === "token" ? "Token" : "Browser")} />
        </span>
        <span className="text-ink-2">
          <VisibleText text={client.who} />
        </span>
        {client.current && <span className="text-small text-done">✓ this device</span>}
      </p>
      <p className="tabular m-0 text-small text-ink-3">
        {client.kind}, {client.scopes.join(", ")}, created {moment(client.created_at * 1000)} by{" "}
        {client.created_by}, {client.last_seen ? `seen ${ago(client.last_seen)} ago` : "never seen"}
        {client.expires_at ? `, until ${moment(client.expires_at * 1000)}` : ""}
      </p>
    </Row>
  );
}
