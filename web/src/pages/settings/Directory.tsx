/** The directory whose settings are shown. */
import { useEffect, useState } from "react";
import { create } from "zustand";
import { DirectoryField, useRecentDirectories } from "../new/DirectoryField";

export const useDirectory = create<{ path: string }>(() => ({ path: "" }));

export function DirectoryChoice() {
  const path = useDirectory((state) => state.path);
  const [typed, setTyped] = useState(path);
  const { data } = useRecentDirectories();
  const first = data?.[0]?.path ?? "";
  useEffect(() => {
    if (!path && first) {
      useDirectory.setState({ path: first });
      setTyped(first);
    }
  }, [path, first]);
  const choose = (next: string) => {
    setTyped(next);
    if (data?.some((each) => each.path === next)) useDirectory.setState({ path: next });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        useDirectory.setState({ path: typed.trim() });
      }}
      className="max-w-[560px]"
    >
      <DirectoryField value={typed} onChange={choose} problem={undefined} about="Press Enter to load" />
    </form>
  );
}
