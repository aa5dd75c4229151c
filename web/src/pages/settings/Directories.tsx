/** Allowed directories: those the server was started with, and those added here. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import { reloadConfig, showError } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Field, INPUT } from "@/ui/Field";
import { VisibleText } from "@/ui/VisibleText";
import { None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";

const KEY = ["roots"];

export function Directories() {
  const admin = useApp((state) => hasScope(state.me, "admin"));
  return (
    <SettingsSection
      title="Directories"
      about="Sessions may work in these directories and in everything below them."
    >
      {admin ? <List /> : <None>Only administrators can see and change directories.</None>}
    </SettingsSection>
  );
}

function List() {
  const queries = useQueryClient();
  const { data, error } = useQuery({ queryKey: KEY, queryFn: () => unwrap(api.GET("/roots")) });
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState("");
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      queries.setQueryData(KEY, await unwrap(api.POST("/roots", { body: { path: path.trim() } })));
      setPath("");
      await reloadConfig();
    } catch (caught) {
      setProblem(errorMessage(caught));
    }
  };
  const remove = async (which: string) => {
    try {
      queries.setQueryData(KEY, await unwrap(api.DELETE("/roots", { body: { path: which } })));
      await reloadConfig();
    } catch (caught) {
      showError(caught);
    }
  };
  if (error) return <Problem>{errorMessage(error)}</Problem>;
  return (
    <>
      <Rows label="Directories">
        {data?.roots.map((each) => (
          <Row
            key={each.path}
            actions={
              each.added && (
                <Button
                  look="quiet"
                  aria-label={`Remove ${each.path}`}
                  onClick={() => void remove(each.path)}
                >
                  Remove
                </Button>
              )
            }
          >
            <bdi className="font-mono text-code">
              <VisibleText text={each.path} />
            </bdi>
          </Row>
        ))}
      </Rows>
      <form onSubmit={(event) => void add(event)} className="flex max-w-[560px] items-start gap-2">
        <Field label="Add a directory" problem={problem} className="flex-1">
          {(given) => (
            <input
              {...given}
              value={path}
              placeholder="/path/to/projects"
              spellCheck={false}
              autoCapitalize="off"
              onChange={(event) => setPath(event.target.value)}
              className={`${INPUT} font-mono text-code`}
            />
          )}
        </Field>
        <Button type="submit" className="mt-6 h-8" disabled={!path.trim()}>
          Add
        </Button>
      </form>
    </>
  );
}
