/** Placeholder of the palette while its code loads: a field that accepts typing. */
import { Icon } from "@/ui/Icon";
import type { PaletteQuery } from "./Palette";

export interface PaletteProps {
  finding: PaletteQuery;
  onFind: (finding: PaletteQuery) => void;
  onClose: () => void;
}

export function PalettePlaceholder({ finding, onFind, onClose }: PaletteProps) {
  return (
    <div
      role="dialog"
      aria-modal="true"
      aria-busy="true"
      aria-label="Search or run a command"
      className="fixed inset-0 z-50"
    >
      <button
        type="button"
        tabIndex={-1}
        aria-label="Close"
        onClick={onClose}
        className="absolute inset-0 bg-[oklch(0.15_0.01_240/0.55)]"
      />
      <div className="absolute flex items-center gap-2 bg-surface-1 px-4 shadow-float max-md:inset-x-0 max-md:bottom-0 max-md:rounded-t-xl md:top-[12vh] md:left-1/2 md:w-[min(560px,94vw)] md:-translate-x-1/2 md:rounded-xl">
        <Icon name="search" className="text-ink-3" />
        <input
          // biome-ignore lint/a11y/noAutofocus: the user has just opened this field
          autoFocus
          aria-label="Search or run a command"
          placeholder="Search sessions, commands and models"
          autoComplete="off"
          spellCheck={false}
          value={finding.query}
          readOnly={finding.entered}
          onChange={(event) => onFind({ ...finding, query: event.target.value })}
          onKeyDown={(event) => {
            if (event.nativeEvent.isComposing) return;
            if (event.key === "Escape") onClose();
            else if (event.key === "Enter") onFind({ ...finding, entered: true });
            else if (event.key !== "Tab") return;
            event.preventDefault();
          }}
          className="h-12 min-w-0 flex-1 bg-transparent text-prose outline-none placeholder:text-ink-3"
        />
      </div>
    </div>
  );
}
