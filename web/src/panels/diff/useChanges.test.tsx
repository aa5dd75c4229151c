import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { expect, test, vi } from "vitest";
import type { SessionView } from "@/api/types";
import { useApp } from "@/state/app";
import { connect } from "@/stream/connection";
import { useChanges } from "./useChanges";

const PATIENCE = { timeout: 20_000 };

function Changes() {
  useChanges("s", "all");
  return null;
}

test("changes are asked for again once they are watched, and once the session is followed: nobody tells what was before", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(`${request.method} ${new URL(request.url, "http://x").pathname.split("/").at(-1)}`);
    return new Response(JSON.stringify({ files: [], total: 0 }), {
      headers: { "content-type": "application/json" },
    });
  });
  const sockets: { onmessage?: (message: { data: string }) => void }[] = [];
  vi.stubGlobal("WebSocket", function opened(this: (typeof sockets)[number]) {
    sockets.push(this);
  });
  connect();
  useApp.setState({ sessions: { s: { id: "s" } as SessionView } });
  const root = createRoot(document.createElement("div"));
  root.render(
    <QueryClientProvider client={new QueryClient()}>
      <Changes />
    </QueryClientProvider>,
  );
  await vi.waitFor(() => expect(asked).toEqual(["GET diff", "POST watch", "GET diff"]), PATIENCE);
  const frame = { type: "stream.synchronized", topic: "session:s", data: { topic: "session:s" } };
  sockets[0]?.onmessage?.({ data: JSON.stringify([frame]) });
  await vi.waitFor(() => expect(asked.slice(3)).toEqual(["POST watch", "GET diff"]), PATIENCE);
  root.unmount();
  vi.unstubAllGlobals();
});
