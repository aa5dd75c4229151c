/** Compare page: transcripts or changes of several sessions side by side. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api, unwrap } from "@/api/client";
import { putSession, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { SegmentedControl } from "@/ui/SegmentedControl";
import { ChangesSideBySide, MOST } from "./compare/ChangesSideBySide";
import { Choose } from "./compare/Choose";
import { ColumnHead, CompareTranscript } from "./compare/Column";
import { SamePrompt } from "./compare/SamePrompt";
import { Page } from "./Page";

export function ComparePage() {
  const { ids: given = "" } = useSearch({ from: "/compare" });
  const ids = [...new Set(given.split(",").filter(Boolean))].slice(0, MOST);
  const navigate = useNavigate();
  const compare = (next: readonly string[]) =>
    void navigate({ to: "/compare", search: next.length > 0 ? { ids: next.join(",") } : {} });
  useKnown(ids);
  if (ids.length > 0)
    return (
      <SideBySide ids={ids} onChange={compare} onLeave={(id) => compare(ids.filter((each) => each !== id))} />
    );
  return (
    <Page title="Compare">
      <div className="flex flex-col gap-8">
        <SamePrompt onBegun={compare} />
        <Choose chosen={[]} onCompare={compare} />
      </div>
    </Page>
  );
}

/** Loads sessions that are not in the list, such as archived ones. */
function useKnown(ids: readonly string[]): void {
  const key = ids.join(",");
  useEffect(() => {
    for (const id of key.split(",").filter(Boolean)) {
      if (useApp.getState().sessions[id]) continue;
      unwrap(api.GET("/sessions/{id}", { params: { path: { id } } })).then(putSession, () => undefined);
    }
  }, [key]);
}

interface Props {
  ids: string[];
  onChange: (ids: string[]) => void;
  onLeave: (id: string) => void;
}

function SideBySide({ ids, onChange, onLeave }: Props) {
  const [what, setWhat] = useState<"transcript" | "changes">("transcript");
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="hairline-b flex min-h-11 shrink-0 items-center gap-3 px-3">
        <h1 className="m-0 flex-1 truncate text-prose font-semibold">Compare</h1>
        <SegmentedControl
          label="View"
          value={what}
          choices={[
            { value: "transcript", label: "Transcript" },
            { value: "changes", label: "Changes" },
          ]}
          onChange={setWhat}
        />
        <Button look="quiet" onClick={() => onChange([])}>
          Change selection
        </Button>
      </header>
      <div className="flex min-h-0 flex-1 flex-col overflow-x-auto">
        <div className={`flex ${what === "transcript" ? "min-h-0 flex-1" : "shrink-0"} max-md:snap-x`}>
          {ids.map((id, index) => (
            <section
              key={id}
              aria-label={`Session ${index + 1} of ${ids.length}`}
              className="flex min-h-0 min-w-80 flex-1 basis-0 snap-start flex-col border-l border-line first:border-l-0 max-md:min-w-[85vw]"
            >
              <ColumnHead id={id} onLeave={() => onLeave(id)} />
              {what === "transcript" && <CompareTranscript id={id} number={index + 1} />}
            </section>
          ))}
        </div>
        {what === "changes" && <ChangesSideBySide key={ids.join()} ids={ids} />}
      </div>
    </div>
  );
}
