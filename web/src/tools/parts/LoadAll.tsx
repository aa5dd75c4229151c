/** Says how much of a call was cut, and loads it. */
import { count } from "@/format/values";
import type { FullCall } from "./fullCall";

export function LoadAll({ whole }: { whole: FullCall }) {
  if (whole.missing === 0) return null;
  if (whole.state === "whole")
    return (
      <p className="m-0 text-small text-ink-3">
        {count(whole.missing)} characters are not kept on the server.
      </p>
    );
  return (
    <p className="m-0 flex flex-wrap items-center gap-x-2 text-small text-ink-3">
      {whole.state === "failed" ? whole.problem : `${count(whole.missing)} characters not shown.`}
      <button
        type="button"
        disabled={whole.state === "loading"}
        onClick={whole.load}
        className="target rounded text-chrome text-accent hover:underline disabled:text-ink-3"
      >
        {whole.state === "loading" ? "Loading…" : "Load all"}
      </button>
    </p>
  );
}
