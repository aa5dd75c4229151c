/** A path that keeps its end visible, with invisible characters shown. */
import { count } from "@/format/values";
import { VisibleText } from "@/ui/VisibleText";

export function PathName({ path, className = "" }: { path: string; className?: string }) {
  const cut = path.replace(/\/+$/, "").lastIndexOf("/") + 1;
  return (
    <span className={`flex min-w-0 font-mono text-code ${className}`} title={path}>
      <bdi className="min-w-0 shrink-[9999] truncate text-ink-3">
        <VisibleText text={path.slice(0, cut)} />
      </bdi>
      <bdi className="min-w-0 truncate">
        <VisibleText text={path.slice(cut)} />
      </bdi>
    </span>
  );
}

/** `+12 −3`, with signs for people who do not see colours; zeros are not shown. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="tabular inline-flex shrink-0 gap-1.5 font-mono text-small">
      {added > 0 && <span className="text-done">+{count(added)}</span>}
      {removed > 0 && <span className="text-failed">−{count(removed)}</span>}
    </span>
  );
}
