/** Fuzzy file search results, chosen with arrow keys. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useState } from "react";
import { api, unwrap } from "@/api/client";
import { PathName } from "../PathName";

interface Props {
  sessionId: string;
  query: string;
  onChoose: (path: string) => void;
  /** Index of the active result. */
  at: number;
  onFound: (paths: string[]) => void;
}

export function Filter({ sessionId, query, onChoose, at, onFound }: Props) {
  const asked = useDeferredValue(useDebounced(query));
  const { data } = useQuery({
    queryKey: ["complete", sessionId, asked],
    queryFn: () =>
      unwrap(
        api.GET("/sessions/{id}/complete", {
          params: { path: { id: sessionId }, query: { q: asked, limit: 50 } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  const paths = data?.paths;
  useEffect(() => onFound(paths ?? []), [paths, onFound]);
  if (paths?.length === 0) return <p className="m-0 p-3 text-ink-3">No matching files.</p>;
  return (
    <div
      role="listbox"
      id="files-found"
      aria-label="Matching files"
      className="min-h-0 flex-1 overflow-auto py-1"
    >
      {paths?.map((path, index) => (
        <div
          key={path}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          onClick={() => onChoose(path)}
          onKeyDown={(event) => event.key === "Enter" && onChoose(path)}
          className={`flex h-7 cursor-pointer items-center px-3 hover:bg-surface-2 max-md:h-11 ${index === at ? "bg-surface-3 [&_.text-ink-3]:text-ink-2" : ""}`}
        >
          <PathName path={path} />
        </div>
      ))}
    </div>
  );
}

/** The value after a pause in typing. */
export function useDebounced(value: string, milliseconds = 120): string {
  const [calm, setCalm] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setCalm(value), milliseconds);
    return () => window.clearTimeout(timer);
  }, [value, milliseconds]);
  return calm;
}
