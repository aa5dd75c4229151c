/** Trust notice of a directory: which files have effects, and a button to trust it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, unwrap } from "@/api/client";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { VisibleText } from "@/ui/VisibleText";

/** The value after a pause in typing. */
export function useDebounced(value: string, milliseconds = 300): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), milliseconds);
    return () => window.clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

export function TrustNote({ cwd }: { cwd: string }) {
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const queries = useQueryClient();
  const trust = useQuery({
    queryKey: ["trust", cwd],
    queryFn: () => unwrap(api.GET("/trust", { params: { query: { cwd } } })),
    enabled: /^[/~]/.test(cwd),
    retry: false,
  });
  const view = trust.data;
  if (!view || view.warns.length === 0 || view.trusted) return null;
  const give = async () => {
    try {
      queries.setQueryData(["trust", cwd], await unwrap(api.POST("/trust", { body: { cwd } })));
      await queries.invalidateQueries({ queryKey: ["inventory"] });
    } catch (error) {
      showError(error);
    }
  };
  return (
    <section aria-label="Trust" className="rounded-box bg-needs-soft px-3 py-2">
      <p className="m-0 text-ink-1">
        {view.changed.length > 0
          ? "This directory has changed since it was trusted. Its settings and hooks are ignored."
          : "This directory is not trusted. Its settings and hooks are ignored."}
      </p>
      <ul className="m-0 mt-1 max-h-32 list-none space-y-0.5 overflow-y-auto p-0 font-mono text-code text-ink-2">
        {view.warns.map((part) => (
          <li key={part} className="truncate">
            <bdi>
              <VisibleText text={part} />
            </bdi>
            {view.changed.includes(part) && <span className="ml-2 font-sans text-needs">changed</span>}
          </li>
        ))}
      </ul>
      <div className="mt-2 flex flex-wrap items-center gap-2">
        {admin ? (
          <Button onClick={() => void give()}>Trust this directory</Button>
        ) : (
          <span className="text-small text-ink-2">An administrator of this server can trust it.</span>
        )}
        <span className="text-small text-ink-3">You can still start; only your own rules apply.</span>
      </div>
    </section>
  );
}
