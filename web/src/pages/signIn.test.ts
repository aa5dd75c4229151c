import { afterEach, expect, test, vi } from "vitest";
import { useApp } from "@/state/app";
import { codeFrom, signIn } from "./signIn";

/** A server that lets nobody in before a code was exchanged. */
function serve() {
  const asked: string[] = [];
  let admitted = false;
  vi.stubGlobal("fetch", async (request: Request) => {
    const path = new URL(request.url, "http://x").pathname.replace("/api/v1", "");
    const { code = "" } = request.method === "POST" ? ((await request.json()) as { code?: string }) : {};
    asked.push(`${request.method} ${path} ${code}`.trimEnd());
    if (path === "/auth/exchange") admitted = true;
    const error = { code: "unauthorized", message: "Not signed in.", details: {} };
    const [body, status] = admitted ? [{ name: "ann", scopes: [] }, 200] : [{ error }, 401];
    return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
  });
  class Closed {
    readyState = 0;
    close() {}
  }
  vi.stubGlobal("WebSocket", Closed);
  return asked;
}

afterEach(() => vi.unstubAllGlobals());

test("a code put into the address of a page that is open already lets one in, and leaves the address (FM-45)", async () => {
  const asked = serve();
  await signIn();
  expect(useApp.getState().auth).toBe("out");
  location.hash = "#code=abc";
  window.dispatchEvent(new HashChangeEvent("hashchange"));
  await vi.waitFor(() => expect(useApp.getState().auth).toBe("in"));
  expect(asked).toContain("POST /auth/exchange abc");
  expect(location.hash).toBe("");
});

test("who is let in again after being sent out begins with a fresh page: nothing of the one before is left", async () => {
  serve();
  const reload = vi.spyOn(location, "reload").mockImplementation(() => undefined);
  useApp.setState({ auth: "out", connection: "refused" });
  location.hash = "#code=def";
  await signIn();
  expect(reload).toHaveBeenCalledOnce();
  expect(useApp.getState().auth).not.toBe("in");
});

test("a code that was pasted lets one in as one in the address does", async () => {
  const asked = serve();
  useApp.setState({ auth: "out", connection: "connecting" });
  await signIn("pasted");
  expect(useApp.getState().auth).toBe("in");
  expect(asked[0]).toBe("POST /auth/exchange pasted");
});

test.each([
  ["abc-123", "abc-123"],
  ["  abc-123\n", "abc-123"],
  ["#code=abc-123", "abc-123"],
  ["http://127.0.0.1:3001/#code=abc-123", "abc-123"],
  ["", ""],
  ["#code=", ""],
])("the code is found in what was pasted: %j", (pasted, code) => {
  expect(codeFrom(pasted)).toBe(code);
});
