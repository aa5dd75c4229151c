/** How one comes in: a code in the address is exchanged for a cookie, once, and leaves the address at once (FM-45). */
import { ApiProblem, api, said, wordsOf } from "@/api/client";
import { useApp } from "@/state/app";
import { connect } from "@/stream/live";

let connected = false;

export async function enter(): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  useApp.setState({ entry: "checking", problem: "" });
  try {
    if (code) {
      history.replaceState(null, "", location.pathname + location.search);
      await exchange(code);
    }
    const me = await said(api.GET("/auth/me"));
    const config = await said(api.GET("/config"));
    useApp.setState({ me, config, entry: "in" });
    if (!connected) connect();
    connected = true;
  } catch (error) {
    const refused = error instanceof ApiProblem && (error.status === 401 || error.status === 403);
    useApp.setState({
      entry: refused ? "out" : "down",
      problem: useApp.getState().problem || wordsOf(error),
    });
  }
}

/** A code that is no longer good does not matter to somebody who is in already. */
async function exchange(code: string): Promise<void> {
  try {
    await said(api.POST("/auth/exchange", { body: { code, label: "" } }));
  } catch (error) {
    if (!(error instanceof ApiProblem) || error.status === 0) throw error;
    useApp.setState({ problem: error.message });
  }
}
