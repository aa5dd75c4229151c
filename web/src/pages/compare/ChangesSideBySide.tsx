/** Changed files of all compared sessions, with the hunks of the selected file side by side. */
import { useState } from "react";
import { errorMessage } from "@/api/client";
import { FileHunks } from "@/panels/diff/FileHunks";
import { statusLabel } from "@/panels/diff/fileLabels";
import { useChanges } from "@/panels/diff/useChanges";
import { Counts, PathName } from "@/panels/PathName";
import { useTranscript } from "@/state/hooks";
import { ErrorBoundary } from "@/ui/ErrorBoundary";
import { type ComparedFile, compared } from "./files";

/** Maximum number of compared sessions; hooks cannot be called in a loop. */
export const MOST = 4;

export function ChangesSideBySide({ ids }: { ids: readonly string[] }) {
  const lists = useLists(ids);
  const files = compared(lists.map((each) => each.data?.files));
  const [chosen, setChosen] = useState("");
  const file = files.find((each) => each.path === chosen) ?? files[0];
  const problem = lists.find((each) => each.error)?.error;
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      {problem && <p className="m-0 px-3 py-2 text-ink-2">{errorMessage(problem)}</p>}
      <div className="hairline-b max-h-[35%] shrink-0 overflow-auto">
        <table aria-label="Changed files" className="w-full border-collapse">
          <tbody>
            {files.map((each) => (
              <FileLine
                key={each.path}
                file={each}
                chosen={each.path === file?.path}
                onChoose={() => setChosen(each.path)}
              />
            ))}
          </tbody>
        </table>
        {files.length === 0 && <p className="m-0 px-3 py-2 text-ink-3">No changed files.</p>}
      </div>
      <div className="flex min-h-0 flex-1 overflow-x-auto">
        {ids.map((id, index) => (
          <div
            key={id}
            className="min-h-0 min-w-80 flex-1 overflow-auto border-l border-line first:border-l-0 max-md:min-w-[85vw]"
          >
            <Follow id={id} />
            {file?.of[index] ? (
              <ErrorBoundary label="This change" resetKey={file.path}>
                <FileHunks key={file.path} sessionId={id} file={file.of[index]} roomy={false} plain />
              </ErrorBoundary>
            ) : (
              file && <p className="m-0 px-3 py-2 text-ink-3">Unchanged</p>
            )}
          </div>
        ))}
      </div>
    </div>
  );
}

/** Subscribes to the session, to get its change events. */
function Follow({ id }: { id: string }) {
  useTranscript(id);
  return null;
}

interface LineProps {
  file: ComparedFile;
  chosen: boolean;
  onChoose: () => void;
}

function FileLine({ file, chosen, onChoose }: LineProps) {
  return (
    <tr className={chosen ? "bg-surface-3 [&_.text-ink-3]:text-ink-2" : "hover:bg-surface-2"}>
      <th className="h-7 w-2/5 max-w-0 p-0 text-left font-normal">
        <button
          type="button"
          aria-pressed={chosen}
          onClick={onChoose}
          className="flex h-7 w-full min-w-0 items-center px-3 max-md:h-11"
        >
          <PathName path={file.path} />
        </button>
      </th>
      {file.of.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
        <td key={index} className="px-3 text-right whitespace-nowrap">
          {each ? (
            <span className="inline-flex gap-2">
              <span
                className={`font-mono text-small ${statusLabel(each).colour}`}
                title={statusLabel(each).label}
              >
                {statusLabel(each).letter}
              </span>
              <Counts added={each.added ?? 0} removed={each.removed ?? 0} />
            </span>
          ) : (
            <span className="text-ink-3">
              <span aria-hidden="true">–</span>
              <span className="sr-only">unchanged</span>
            </span>
          )}
        </td>
      ))}
    </tr>
  );
}

function useLists(ids: readonly string[]) {
  const [first = "", second = "", third = "", fourth = ""] = ids;
  const all = [useChanges(first), useChanges(second), useChanges(third), useChanges(fourth)];
  return all.slice(0, ids.length);
}
