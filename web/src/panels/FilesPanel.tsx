/** Files panel: a tree, a search field and a viewer. */
import { type KeyboardEvent, useCallback, useState } from "react";
import type { SessionView } from "@/api/types";
import { Icon } from "@/ui/Icon";
import { leaveFile, showFile, useChosen } from "./files/chosen";
import { FileTree } from "./files/FileTree";
import { Filter } from "./files/Filter";
import { Viewer } from "./files/Viewer";
import { usePanelWidth } from "./usePanelWidth";

/** From this width on, the tree and the file are side by side. */
const BOTH = 640;

export function FilesPanel({ session }: { session: SessionView }) {
  const chosen = useChosen((state) => state.of[session.id]);
  const room = usePanelWidth();
  const both = room.width >= BOTH;
  const choose = (path: string) => showFile(session.id, path);
  return (
    <div ref={room.ref} className="flex h-full min-h-0">
      {(both || !chosen) && (
        <div className={`flex min-h-0 flex-col ${both ? "w-72 shrink-0 border-r border-line" : "w-full"}`}>
          <Finder sessionId={session.id} chosen={chosen?.path ?? ""} onChoose={choose} />
        </div>
      )}
      {chosen ? (
        <div className="min-h-0 min-w-0 flex-1">
          <Viewer
            key={chosen.path}
            session={session}
            path={chosen.path}
            line={chosen.line}
            {...(both ? {} : { onBack: () => leaveFile(session.id) })}
          />
        </div>
      ) : (
        both && (
          <p className="m-auto max-w-80 p-8 text-center text-ink-3">
            Select a file to view it or to mention it to the agent.
          </p>
        )
      )}
    </div>
  );
}

interface FinderProps {
  sessionId: string;
  chosen: string;
  onChoose: (path: string) => void;
}

function Finder({ sessionId, chosen, onChoose }: FinderProps) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const [found, setFound] = useState<string[]>([]);
  const updatePaths = useCallback((paths: string[]) => {
    setFound(paths);
    setAt(0);
  }, []);
  const key = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const path = found[at];
    if (step) setAt(Math.max(0, Math.min(found.length - 1, at + step)));
    else if (event.key === "Enter" && query && path) onChoose(path);
    else if (event.key === "Escape" && query) setQuery("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div className="hairline-b flex h-9 shrink-0 items-center gap-2 px-3 max-md:h-12">
        <Icon name="search" size={14} className="text-ink-3" />
        <input
          type="search"
          aria-label="Find file"
          aria-controls={query.trim() && found.length > 0 ? "files-found" : undefined}
          placeholder="Find file"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          onKeyDown={key}
          className="h-full min-w-0 flex-1 bg-transparent outline-none"
        />
      </div>
      {query.trim() ? (
        <Filter
          sessionId={sessionId}
          query={query.trim()}
          onChoose={onChoose}
          at={at}
          onFound={updatePaths}
        />
      ) : (
        <FileTree sessionId={sessionId} chosen={chosen} onChoose={onChoose} />
      )}
    </>
  );
}
