/** A list of named items with description and source. */
import { shortPath } from "@/format/values";
import { useApp } from "@/state/app";
import { VisibleText } from "@/ui/VisibleText";

interface Named {
  name: string;
  description: string;
  source: string;
  level: string;
  trusted: boolean;
}

export function Names({ names }: { names: readonly Named[] }) {
  const home = useApp((state) => state.config?.home ?? "");
  return names.map((each) => (
    <div key={`${each.level}/${each.name}`} className="px-3 py-1">
      <div className="flex items-baseline gap-2">
        <span className="min-w-0 flex-1 truncate font-medium">{each.name}</span>
        <Marked {...each} />
      </div>
      {each.description && <p className="m-0 line-clamp-2 text-ink-2">{each.description}</p>}
      {each.source && (
        <p className="m-0 truncate text-small text-ink-3" title={each.source}>
          <VisibleText text={shortPath(each.source, home)} />
        </p>
      )}
    </div>
  ));
}

/** An item's source, and whether it is trusted. */
export function Marked({
  level,
  trusted,
  source = "",
}: {
  level: string;
  trusted: boolean;
  source?: string;
}) {
  return (
    <span className="shrink-0 text-small text-ink-3" title={source || level}>
      {level}
      {!trusted && <span className="text-needs"> ◆ not trusted</span>}
    </span>
  );
}
