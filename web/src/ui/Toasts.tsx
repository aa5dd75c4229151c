/** Short words at the edge of the page: what was done, and how to undo it. */
import { Toaster } from "sonner";
import { useUi } from "@/state/ui";

export function Toasts() {
  const theme = useUi((state) => state.theme);
  return (
    <Toaster
      theme={theme}
      position="bottom-right"
      toastOptions={{
        style: {
          background: "var(--surface-3)",
          color: "var(--ink-1)",
          border: "1px solid var(--line)",
          fontSize: "13px",
        },
      }}
    />
  );
}
