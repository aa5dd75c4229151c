/** Which directory the settings are looked at for: they differ from one to another. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { create } from "zustand";
import { api, said } from "@/api/client";
import { Combo } from "@/ui/Combo";
import { Field } from "@/ui/Field";

export const useDirectory = create<{ path: string }>(() => ({ path: "" }));

export function DirectoryChoice() {
  const path = useDirectory((state) => state.path);
  const [typed, setTyped] = useState(path);
  const { data } = useQuery({ queryKey: ["recent-dirs"], queryFn: () => said(api.GET("/recent-dirs")) });
  const first = data?.directories[0]?.path ?? "";
  useEffect(() => {
    if (!path && first) {
      useDirectory.setState({ path: first });
      setTyped(first);
    }
  }, [path, first]);
  const proposals = (data?.directories ?? [])
    .filter((each) => each.path !== typed)
    .map((each) => ({ value: each.path }));
  const choose = (next: string) => {
    setTyped(next);
    const known = data?.directories.some((each) => each.path === next);
    if (known) useDirectory.setState({ path: next });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        useDirectory.setState({ path: typed.trim() });
      }}
      className="max-w-[560px]"
    >
      <Field label="Directory" about="Enter looks into another one.">
        {(given) => (
          <Combo given={given} mono label="Directory" value={typed} onChange={choose} proposals={proposals} />
        )}
      </Field>
    </form>
  );
}
