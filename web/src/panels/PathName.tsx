/** A path whose end is seen even where there is little room; nothing in it hides or turns the text around. */
import { Shown } from "@/ui/Hidden";
import { count } from "@/words/format";

export function PathName({ path, className = "" }: { path: string; className?: string }) {
  const cut = path.replace(/\/+$/, "").lastIndexOf("/") + 1;
  return (
    <span className={`flex min-w-0 font-mono text-code ${className}`} title={path}>
      <bdi className="min-w-0 shrink-[9999] truncate text-ink-3">
        <Shown text={path.slice(0, cut)} />
      </bdi>
      <bdi className="min-w-0 truncate">
        <Shown text={path.slice(cut)} />
      </bdi>
    </span>
  );
}

/** `+12 −3`, with the signs kept for those who see no colours; what is zero is not said. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="tabular inline-flex shrink-0 gap-1.5 font-mono text-small">
      {added > 0 && <span className="text-done">+{count(added)}</span>}
      {removed > 0 && <span className="text-failed">−{count(removed)}</span>}
    </span>
  );
}
