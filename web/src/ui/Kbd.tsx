/** A keyboard key. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <kbd className="rounded border border-line-strong px-1 font-sans text-[11px] leading-4 text-ink-2">
      {keys}
    </kbd>
  );
}
