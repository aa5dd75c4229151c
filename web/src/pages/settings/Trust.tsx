/** Trust of a directory: whether its settings, hooks and git configuration take effect. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, errorMessage, unwrap } from "@/api/client";
import { plural } from "@/format/values";
import { showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Problem } from "./SettingsSection";

export function Trust({ cwd }: { cwd: string }) {
  const queries = useQueryClient();
  const admin = useApp((state) => hasScope(state.me, "admin"));
  const { data, error } = useQuery({
    queryKey: ["trust", cwd],
    queryFn: () => unwrap(api.GET("/trust", { params: { query: { cwd } } })),
  });
  const change = async (trusted: boolean) => {
    try {
      const body = { cwd };
      const now = trusted
        ? await unwrap(api.POST("/trust", { body }))
        : await unwrap(api.DELETE("/trust", { body }));
      queries.setQueryData(["trust", cwd], now);
      await queries.invalidateQueries({ queryKey: ["rules", cwd] });
      await queries.invalidateQueries({ queryKey: ["around", cwd] });
    } catch (problem) {
      showError(problem);
    }
  };
  if (error) return <Problem>{errorMessage(error)}</Problem>;
  if (!data) return null;
  const { parts = [], changed = [] } = data;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p className="m-0 min-w-0 flex-1 basis-80">
        {data.trusted ? (
          <>
            <span className="text-done">✓</span> This directory is trusted: its own settings and hooks count.
          </>
        ) : (
          <>
            <span className="text-needs">◆</span> This directory is not trusted: its own settings can only
            restrict, and nothing it brings is run.
          </>
        )}{" "}
        <span className="text-ink-3">
          {changed.length > 0
            ? `Changed since it was trusted: ${changed.join(", ")}`
            : parts.length > 0 && `${plural(parts.length, "file")} can have effects: ${parts.join(", ")}`}
        </span>
      </p>
      {admin && (
        <Button onClick={() => void change(!data.trusted)}>
          {data.trusted ? "Revoke trust" : "Trust this directory"}
        </Button>
      )}
    </div>
  );
}
