/** What can come in: browsers and tokens, each of which can be shut out; and a code for another device. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, said, wordsOf } from "@/api/client";
import type { ClientView } from "@/api/types";
import { confirm } from "@/shell/confirm";
import { complain } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Shown } from "@/ui/Hidden";
import { ago, moment } from "@/words/format";
import { NewDevice } from "./NewDevice";
import { Group, None, Part, Problem, Row, Rows } from "./Part";

export function Devices() {
  const admin = useApp((state) => may(state.me, "admin"));
  const { data, error } = useQuery({
    queryKey: ["clients"],
    queryFn: () => said(api.GET("/auth/clients")),
    staleTime: 0,
  });
  return (
    <Part
      title="Devices"
      about="Browsers and tokens that can come in. What is revoked is shut out within a second, with all it has open."
    >
      {error && <Problem>{wordsOf(error)}</Problem>}
      {admin ? <NewDevice /> : <None>A code for another device is made by whoever has the scope admin.</None>}
      <Group title="Those that are in">
        <Rows label="Devices">
          {data?.clients.map((client) => (
            <Device key={client.id} client={client} />
          ))}
        </Rows>
      </Group>
    </Part>
  );
}

function Device({ client }: { client: ClientView }) {
  const queries = useQueryClient();
  const revoke = async () => {
    const meant =
      !client.current ||
      (await confirm({
        title: "Shut this very browser out?",
        words: "You are signed out at once. Another code is needed to come back.",
        action: "Revoke",
        danger: true,
      }));
    if (!meant) return;
    try {
      await api.DELETE("/auth/clients/{id}", { params: { path: { id: client.id } } });
    } catch (error) {
      complain(error);
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
          <Shown text={client.label || (client.kind === "token" ? "Token" : "Browser")} />
        </span>
        <span className="text-ink-2">
          <Shown text={client.who} />
        </span>
        {client.current && <span className="text-small text-done">✓ this one</span>}
      </p>
      <p className="tabular m-0 text-small text-ink-3">
        {client.kind}, {client.scopes.join(", ")}, made {moment(client.created_at * 1000)} by{" "}
        {client.created_by}, {client.last_seen ? `seen ${ago(client.last_seen)} ago` : "never seen"}
        {client.expires_at ? `, until ${moment(client.expires_at * 1000)}` : ""}
      </p>
    </Row>
  );
}
