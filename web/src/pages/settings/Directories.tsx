/** Directories sessions may work in: those the server was started with, and those added here. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, said, wordsOf } from "@/api/client";
import { complain, learnConfig } from "@/state/actions";
import { may, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { Field, INPUT } from "@/ui/Field";
import { Shown } from "@/ui/Hidden";
import { None, Part, Problem, Row, Rows } from "./Part";

const KEY = ["roots"];

export function Directories() {
  const admin = useApp((state) => may(state.me, "admin"));
  return (
    <Part title="Directories" about="Sessions may work in these directories and in everything below them.">
      {admin ? <List /> : <None>Only an administrator can see and change them.</None>}
    </Part>
  );
}

function List() {
  const queries = useQueryClient();
  const { data, error } = useQuery({ queryKey: KEY, queryFn: () => said(api.GET("/roots")) });
  const [path, setPath] = useState("");
  const [problem, setProblem] = useState("");
  const add = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      queries.setQueryData(KEY, await said(api.POST("/roots", { body: { path: path.trim() } })));
      setPath("");
      await learnConfig();
    } catch (caught) {
      setProblem(wordsOf(caught));
    }
  };
  const remove = async (which: string) => {
    try {
      queries.setQueryData(KEY, await said(api.DELETE("/roots", { body: { path: which } })));
      await learnConfig();
    } catch (caught) {
      complain(caught);
    }
  };
  if (error) return <Problem>{wordsOf(error)}</Problem>;
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
              <Shown text={each.path} />
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
