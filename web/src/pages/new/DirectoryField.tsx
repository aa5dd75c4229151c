/** Directory field: recent directories, then matching ones. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo } from "react";
import { api, unwrap } from "@/api/client";
import { relativeTime } from "@/layout/RelativeTime";
import { Combobox, type Proposal } from "@/ui/Combobox";
import { Field } from "@/ui/Field";

interface Props {
  value: string;
  onChange: (value: string) => void;
  problem: string | undefined;
  about?: React.ReactNode;
}

export function DirectoryField({ value, onChange, problem, about }: Props) {
  const proposals = useDirectories(value);
  return (
    <Field label="Directory" problem={problem} about={about}>
      {(given) => (
        <Combobox
          given={given}
          label="Directories"
          mono
          value={value}
          onChange={onChange}
          proposals={proposals}
          placeholder="/path/to/project"
        />
      )}
    </Field>
  );
}

export function useRecentDirectories() {
  return useQuery({
    queryKey: ["recent-dirs"],
    queryFn: async () => (await unwrap(api.GET("/recent-dirs"))).directories,
  });
}

/** Directories that start with the prefix, and those inside it. */
async function directoriesAt(prefix: string): Promise<string[]> {
  const ask = async (text: string) =>
    (await unwrap(api.GET("/directories", { params: { query: { prefix: text } } }))).directories;
  if (!prefix || prefix.endsWith("/")) return ask(prefix);
  const [inside, alike] = await Promise.all([ask(`${prefix}/`), ask(prefix)]);
  return [...new Set([...alike, ...inside])];
}

function useDirectories(typed: string): Proposal[] {
  const prefix = useDeferredValue(typed.trim());
  const recent = useRecentDirectories();
  const found = useQuery({
    queryKey: ["directories", prefix],
    queryFn: () => directoriesAt(prefix),
    enabled: prefix === "" || /^[/~]/.test(prefix),
    placeholderData: keepPreviousData,
  });
  return useMemo(() => {
    const wanted = prefix.toLowerCase();
    const known = (recent.data ?? []).filter(
      (each) => each.path.toLowerCase().includes(wanted) && each.path !== prefix,
    );
    const seen = new Set(known.map((each) => each.path));
    const others = (found.data ?? []).filter((path) => !seen.has(path) && path.replace(/\/$/, "") !== prefix);
    return [
      ...known.slice(0, 8).map((each) => ({ value: each.path, about: relativeTime(each.used_at) })),
      ...others.slice(0, 50).map((path) => ({ value: path, more: true })),
    ];
  }, [prefix, recent.data, found.data]);
}
