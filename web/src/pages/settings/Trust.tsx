/** Whether a directory's own settings, hooks and git configuration are obeyed. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, said, wordsOf } from "@/api/client";
import { complain } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { plural } from "@/words/format";
import { Problem } from "./Part";

export function Trust({ cwd }: { cwd: string }) {
  const queries = useQueryClient();
  const admin = useApp((state) => may(state.me, "admin"));
  const { data, error } = useQuery({
    queryKey: ["trust", cwd],
    queryFn: () => said(api.GET("/trust", { params: { query: { cwd } } })),
  });
  const change = async (trusted: boolean) => {
    try {
      const body = { cwd };
      const now = trusted
        ? await said(api.POST("/trust", { body }))
        : await said(api.DELETE("/trust", { body }));
      queries.setQueryData(["trust", cwd], now);
      await queries.invalidateQueries({ queryKey: ["rules", cwd] });
      await queries.invalidateQueries({ queryKey: ["around", cwd] });
    } catch (problem) {
      complain(problem);
    }
  };
  if (error) return <Problem>{wordsOf(error)}</Problem>;
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
            : parts.length > 0 &&
              `${plural(parts.length, "file")} of it can have effects: ${parts.join(", ")}`}
        </span>
      </p>
      {admin && (
        <Button onClick={() => void change(!data.trusted)}>
          {data.trusted ? "Take trust back" : "Trust this directory"}
        </Button>
      )}
    </div>
  );
}
