/** New session page. */
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react";
import { useCommand } from "@/keys/useCommand";
import { createSession } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import type { DraftImage } from "@/state/drafts";
import { BYPASS } from "@/state/modes";
import { newSessionBody, useDraft } from "@/state/newSessionDraft";
import { useUi } from "@/state/ui";
import { Button } from "@/ui/Button";
import { confirm } from "@/ui/confirm";
import { Empty } from "@/ui/Empty";
import { BusyNote } from "./new/BusyNote";
import { DirectoryField, useRecentDirectories } from "./new/DirectoryField";
import { Handover, useHandover } from "./new/Handover";
import { Options } from "./new/Options";
import { PromptField } from "./new/PromptField";
import { isModelNeeded, type Problems, problemsFrom, validate } from "./new/problems";
import { TrustNote, useDebounced } from "./new/TrustNote";

export function NewSessionPage() {
  const allowed = useApp((state) => hasScope(state.me, "operate"));
  if (!allowed)
    return (
      <Empty page title="You cannot start sessions">
        Ask an administrator for the operate scope.
      </Empty>
    );
  return <Form />;
}

function Form() {
  const config = useApp((state) => state.config);
  const draft = useDraft();
  const [images, setImages] = useState<readonly DraftImage[]>([]);
  const [problems, setProblems] = useState<Problems>({});
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const search = useSearch({ from: "/new" });
  const handover = useHandover(search.from ?? "");
  const cwd = useDebounced(draft.cwd.trim());
  const form = useRef<HTMLFormElement>(null);
  useFirstDirectory(search.cwd ?? "", form);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new model clears the problem
  useEffect(() => setProblems(({ model: _, ...rest }) => rest), [draft.model]);

  const start = async () => {
    const found = validate(draft, images.length);
    if (config && !draft.model.trim() && isModelNeeded(config, draft.engine))
      found.model = "No model connected.";
    setProblems(found);
    if (Object.keys(found).length > 0 || busy || !(await isMeant(draft.permission))) return;
    setBusy(true);
    if (!draft.clientId) draft.set({ clientId: crypto.randomUUID() });
    try {
      const wanted = newSessionBody(useDraft.getState(), config?.default_max_turns ?? 100);
      const parts = images.map((each) => each.part);
      const session = await createSession({ ...wanted, images: parts, artifacts: handover.chosen });
      draft.sent();
      useUi.getState().set({ welcomed: true });
      await navigate({ to: "/session/$id", params: { id: session.id } });
    } catch (error) {
      setProblems(problemsFrom(error));
      draft.set({ clientId: "" });
    } finally {
      setBusy(false);
    }
  };
  useCommand("start", () => void start());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void start();
  };
  const change = (field: keyof Problems, next: Parameters<typeof draft.set>[0]) => {
    draft.set(next);
    if (problems[field]) setProblems(({ [field]: _, ...rest }) => rest);
  };
  return (
    <div className="h-full overflow-y-auto">
      <form
        ref={form}
        noValidate
        aria-label="New session"
        onSubmit={submit}
        className="mx-auto flex max-w-190 flex-col gap-4 px-4 pt-6 pb-8 md:px-6 md:pt-10"
      >
        <h1 className="m-0 text-[18px] leading-6 font-semibold">New session</h1>
        <DirectoryField
          value={draft.cwd}
          onChange={(value) => change("cwd", { cwd: value })}
          problem={problems.cwd}
        />
        <TrustNote cwd={cwd} />
        <BusyNote cwd={cwd} />
        <PromptField
          value={draft.prompt}
          onChange={(prompt) => change("prompt", { prompt })}
          cwd={cwd}
          engine={draft.engine}
          images={images}
          onImages={setImages}
          problem={problems.prompt}
        />
        <Handover handover={handover} />
        {config && <Options config={config} problems={problems} />}
        {problems.all && (
          <p role="alert" className="m-0 text-failed">
            {problems.all}
          </p>
        )}
        <StartBar busy={busy} />
      </form>
    </div>
  );
}

function StartBar({ busy }: { busy: boolean }) {
  return (
    <div className="hairline-t sticky bottom-0 -mx-4 flex items-center justify-end gap-3 bg-surface-0 px-4 py-3 md:-mx-6 md:px-6">
      <span className="flex-1 text-small text-ink-3 max-md:hidden">
        Runs on the server; you can close this tab.
      </span>
      <Button look="primary" type="submit" command="start" disabled={busy} className="min-w-24 max-md:flex-1">
        {busy ? "Starting" : "Start"}
      </Button>
    </div>
  );
}

/** Prefills the directory from the link, or the last used one. */
function useFirstDirectory(wanted: string, form: RefObject<HTMLFormElement | null>): void {
  const recent = useRecentDirectories();
  const begun = useApp((state) => state.config?.start_directory ?? "");
  const first = wanted || recent.data?.[0]?.path || begun;
  const known = Boolean(wanted) || !recent.isPending;
  useEffect(() => {
    if (!known) return;
    const { cwd, set } = useDraft.getState();
    if (wanted || (!cwd && first)) set({ cwd: wanted || first });
    const busy = form.current?.contains(document.activeElement) || document.querySelector("[role=dialog]");
    // On phones, do not focus: the keyboard would cover the form.
    if (busy || window.matchMedia("(pointer: coarse)").matches) return;
    const field = wanted || cwd || first ? "textarea" : "[role=combobox]";
    form.current?.querySelector<HTMLElement>(field)?.focus();
  }, [wanted, first, known, form]);
}

async function isMeant(permission: string): Promise<boolean> {
  if (permission !== BYPASS) return true;
  return confirm({
    title: "Start with permissions bypassed?",
    text: "For 60 minutes the agent runs commands and edits files without approval. This cannot be undone. Everything is logged.",
    action: "Start with bypass",
    danger: true,
  });
}
