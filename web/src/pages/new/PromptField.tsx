/** Prompt field with command and file completion and image attachments. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useId, useRef, useState } from "react";
import { api, unwrap } from "@/api/client";
import { commandTag, complete, matching, type Trigger, triggerAt } from "@/composer/completion";
import { readImages, totalSize } from "@/composer/images";
import { bytes } from "@/format/values";
import { useApp } from "@/state/app";
import type { DraftImage } from "@/state/drafts";
import { IconButton } from "@/ui/Button";
import { Field } from "@/ui/Field";
import { Icon } from "@/ui/Icon";
import { toast } from "@/ui/toast";
import { VisibleText } from "@/ui/VisibleText";

interface Props {
  value: string;
  onChange: (text: string) => void;
  cwd: string;
  engine: string;
  images: readonly DraftImage[];
  onImages: (images: readonly DraftImage[]) => void;
  problem: string | undefined;
}

const TEXT_BYTES = 1024 * 1024;

export function PromptField(props: Props) {
  const { value, onChange, images, onImages, problem } = props;
  const most = useApp((state) => state.config?.limits.body_bytes ?? 24 * 1024 * 1024);
  const field = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion(props, field.current);
  const add = async (files: File[]) => {
    const read = await readImages(files, totalSize(images), most - TEXT_BYTES);
    for (const message of read.refused) toast.error(message);
    if (read.images.length > 0) onImages([...images, ...read.images]);
  };
  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void add([...event.dataTransfer.files]);
  };
  return (
    <Field label="Prompt" problem={problem}>
      {(given) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: files can be dropped; keyboard users paste
        <div
          onDrop={drop}
          onDragOver={(event) => event.preventDefault()}
          className={`relative rounded-box border bg-surface-1 focus-within:border-accent ${problem ? "border-failed" : "border-line-strong"}`}
        >
          <textarea
            {...given}
            ref={field}
            value={value}
            rows={6}
            placeholder="Describe the task"
            onChange={(event) => {
              onChange(event.target.value);
              completion.look(event.target.value, event.target.selectionStart);
            }}
            onKeyDown={completion.key}
            onBlur={() => completion.close()}
            onPaste={paste}
            {...completion.field}
            className="field-sizing-content block max-h-[40vh] min-h-36 w-full resize-y bg-transparent px-3 py-2 text-prose outline-none placeholder:text-ink-3"
          />
          {completion.list}
          {images.length > 0 && (
            <Strip images={images} onDrop={(id) => onImages(images.filter((each) => each.id !== id))} />
          )}
        </div>
      )}
    </Field>
  );
}

function Strip({ images, onDrop }: { images: readonly DraftImage[]; onDrop: (id: string) => void }) {
  return (
    <ul aria-label="Images" className="m-0 flex list-none flex-wrap gap-2 px-3 pb-2">
      {images.map((each) => (
        <li key={each.id} className="flex items-center gap-2 rounded-box bg-surface-2 py-1 pr-1 pl-1">
          <img
            src={`data:${each.part.media_type};base64,${each.part.data}`}
            alt=""
            className="size-8 rounded object-cover"
          />
          <span className="max-w-40 truncate text-small">
            <bdi>{each.name}</bdi> <span className="text-ink-3">{bytes(each.size)}</span>
          </span>
          <IconButton label={`Remove ${each.name}`} onClick={() => onDrop(each.id)}>
            <Icon name="close" />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

/** Commands available in this directory. */
function useCommands(cwd: string, engine: string) {
  const asked = useQuery({
    queryKey: ["inventory", cwd, engine],
    queryFn: () => unwrap(api.GET("/surroundings", { params: { query: { cwd, engine } } })),
    enabled: /^[/~]/.test(cwd),
    retry: false,
    staleTime: 60_000,
  });
  return asked.data?.commands ?? [];
}

/** Files that match the text after an @. */
function useFiles(cwd: string, trigger: Trigger | null) {
  const q = trigger?.kind === "file" ? trigger.query : null;
  const asked = useQuery({
    queryKey: ["complete", cwd, q],
    queryFn: () => unwrap(api.GET("/complete", { params: { query: { cwd, q: q ?? "", limit: 8 } } })),
    enabled: q !== null && /^[/~]/.test(cwd),
    placeholderData: keepPreviousData,
    retry: false,
  });
  return q === null
    ? []
    : (asked.data?.paths ?? []).map((name) => ({ name, description: "", hint: "", kind: "" }));
}

function useCompletion(props: Props, field: HTMLTextAreaElement | null) {
  const commands = useCommands(props.cwd, props.engine);
  const [trigger, setTrigger] = useState<Trigger | null>(null);
  const files = useFiles(props.cwd, trigger);
  const [at, setAt] = useState(0);
  const list = useId();
  const found = trigger?.kind === "command" ? matching(commands, trigger.query, 8) : files;
  const open = found.length > 0;
  const take = (name: string) => {
    if (!trigger) return;
    const next = complete(props.value, trigger, name);
    props.onChange(next.text);
    setTrigger(null);
    requestAnimationFrame(() => {
      field?.focus();
      field?.setSelectionRange(next.caret, next.caret);
    });
  };
  const key = (event: KeyboardEvent) => {
    if (!open || event.metaKey || event.ctrlKey) return;
    const chosen = found[Math.min(at, found.length - 1)];
    if (event.key === "ArrowDown") setAt((at + 1) % found.length);
    else if (event.key === "ArrowUp") setAt((at + found.length - 1) % found.length);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen) take(chosen.name);
    else if (event.key === "Escape") setTrigger(null);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return {
    key,
    look: (text: string, caret: number) => {
      setTrigger(triggerAt(text, caret));
      setAt(0);
    },
    close: () => setTrigger(null),
    field: open
      ? { "aria-controls": list, "aria-activedescendant": `${list}-${Math.min(at, found.length - 1)}` }
      : {},
    list: open && (
      <div
        id={list}
        role="listbox"
        aria-label={trigger?.kind === "file" ? "Files" : "Commands"}
        className="absolute inset-x-0 top-full z-30 mt-1 max-h-64 overflow-y-auto rounded-box border border-line bg-surface-1 p-1 shadow-float"
      >
        {found.map((each, position) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus and handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field points to it by its id
          <div
            key={each.name}
            id={`${list}-${position}`}
            role="option"
            aria-selected={position === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(each.name)}
            className={`target flex min-h-7 items-center gap-3 rounded px-2 ${position === at ? "bg-surface-3" : "hover:bg-surface-2"}`}
          >
            <bdi className="shrink-0 font-mono text-code">
              {trigger?.kind === "file" ? "" : "/"}
              <VisibleText text={each.name} />
            </bdi>
            <bdi className="min-w-0 flex-1 truncate text-small text-ink-3">
              {[each.hint, each.description].filter(Boolean).join("  ")}
            </bdi>
            {each.kind && <span className="shrink-0 text-small text-ink-3">{commandTag(each)}</span>}
          </div>
        ))}
      </div>
    ),
  };
}
