/** File tree of a session: loaded on demand, keyboard navigation, virtualized. */
import { type KeyboardEvent, useId, useMemo, useRef, useState } from "react";
import { Icon } from "@/ui/Icon";
import { useNarrow } from "@/ui/media";
import { equalRows } from "@/ui/rows/heights";
import { useRowWindow } from "@/ui/rows/useRowWindow";
import { VisibleText } from "@/ui/VisibleText";
import { type Line, linesOf, moveBy } from "./tree";
import { setOpened, useFolders, useOpenedOf } from "./useFolders";

interface Props {
  sessionId: string;
  chosen: string;
  onChoose: (path: string) => void;
}

export function FileTree({ sessionId, chosen, onChoose }: Props) {
  const open = useOpenedOf(sessionId);
  const folders = useFolders(sessionId, open);
  const lines = useMemo(() => linesOf(folders, open), [folders, open]);
  const [active, setActive] = useState(chosen);
  const container = useRef<HTMLDivElement>(null);
  const id = useId();
  const height = useNarrow() ? 44 : 28;
  const rows = useMemo(() => equalRows(lines.length, height), [lines.length, height]);
  const { from, to, reveal } = useRowWindow(container, rows);
  const toggle = (path: string, now: boolean) =>
    setOpened(sessionId, (set) => (now ? set.add(path) : set.delete(path)));
  const goTo = (path: string) => {
    setActive(path);
    reveal(lines.findIndex((line) => line.path === path));
  };
  const key = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const move = moveBy(event.key, lines, active);
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    if ("to" in move) goTo(move.to);
    else if ("open" in move) toggle(move.open, true);
    else if ("close" in move) toggle(move.close, false);
    else onChoose(move.choose);
  };
  const click = (line: Line) => {
    if (line.text) return;
    setActive(line.path);
    if (line.kind === "directory") toggle(line.path, !line.open);
    else if (line.kind === "file") onChoose(line.path);
  };
  const activeAt = lines.findIndex((line) => line.path === active);
  return (
    <div
      ref={container}
      role="tree"
      tabIndex={0}
      aria-label="Files"
      aria-activedescendant={activeAt >= 0 ? `${id}-${activeAt}` : undefined}
      onKeyDown={key}
      onFocus={() => active || goTo(lines[0]?.path ?? "")}
      className="group min-h-0 flex-1 overflow-auto py-1 outline-none"
    >
      <div role="presentation" className="relative" style={{ height: rows.top(rows.count) }}>
        {lines.slice(from, to).map((line, index) => (
          <TreeLine
            key={line.path}
            id={`${id}-${from + index}`}
            line={line}
            top={rows.top(from + index)}
            height={height}
            active={line.path === active}
            chosen={line.path === chosen}
            onClick={() => click(line)}
          />
        ))}
      </div>
    </div>
  );
}

interface LineProps {
  id: string;
  line: Line;
  top: number;
  height: number;
  active: boolean;
  chosen: boolean;
  onClick: () => void;
}

function TreeLine({ id, line, top, height, active, chosen, onClick }: LineProps) {
  const directory = line.kind === "directory";
  const style = { top, height, paddingLeft: 8 + (line.level - 1) * 14 };
  if (line.text)
    return (
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names the active line
      <div
        role="treeitem"
        aria-disabled="true"
        aria-selected="false"
        aria-level={line.level}
        style={style}
        className="absolute inset-x-0 flex items-center truncate text-small text-ink-3"
      >
        <span className="pl-5">{line.text}</span>
      </div>
    );
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus and names the active line
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
    <div
      id={id}
      role="treeitem"
      aria-level={line.level}
      aria-selected={chosen}
      {...(directory ? { "aria-expanded": line.open } : {})}
      onClick={onClick}
      style={style}
      className={`absolute inset-x-0 flex cursor-pointer items-center gap-1.5 pr-2 hover:bg-surface-2 ${chosen ? "bg-surface-3 [&_.text-ink-3]:text-ink-2" : ""} ${active ? "group-focus-visible:outline-2 group-focus-visible:-outline-offset-2 group-focus-visible:outline-accent" : ""} ${line.ignored ? "text-ink-3" : ""}`}
    >
      {directory ? (
        <Icon name={line.open ? "chevronDown" : "chevronRight"} size={12} className="text-ink-3" />
      ) : (
        <span className="w-3 shrink-0" />
      )}
      <Icon
        name={directory ? "folder" : line.kind === "link" ? "link" : "file"}
        size={14}
        className="text-ink-3"
      />
      <bdi className="min-w-0 truncate font-mono text-code">
        <VisibleText text={line.name} />
      </bdi>
      {line.target && (
        <bdi className="min-w-0 truncate font-mono text-small text-ink-3">
          → <VisibleText text={line.target} />
        </bdi>
      )}
    </div>
  );
}
