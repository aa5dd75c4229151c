/** Dialog content: centred on wide screens, a bottom sheet on phones. Escape and a click outside close it. */
import { Dialog, VisuallyHidden } from "radix-ui";
import { IconButton } from "./Button";
import { Icon } from "./Icon";
import { useRestoreFocus } from "./restoreFocus";
import type { SheetProps } from "./Sheet";

export default function SheetBox({
  open,
  onClose,
  title,
  about,
  wide = false,
  bare = false,
  footer,
  before,
  children,
}: SheetProps) {
  const focus = useRestoreFocus(before);
  return (
    <Dialog.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-[oklch(0.15_0.01_240/0.55)]" />
        <Dialog.Content
          // The sheet itself, not its first button, whose tooltip would swallow the first Escape.
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            focus.onOpenAutoFocus();
            (event.currentTarget as HTMLElement).focus();
          }}
          onCloseAutoFocus={focus.onCloseAutoFocus}
          {...(about ? {} : { "aria-describedby": undefined })}
          className={`fixed z-50 flex flex-col bg-surface-1 shadow-float outline-none max-md:inset-x-0 max-md:bottom-0 max-md:max-h-[92dvh] max-md:rounded-t-xl md:top-[12vh] md:left-1/2 md:max-h-[76vh] md:-translate-x-1/2 md:rounded-xl ${wide ? "md:w-[min(1000px,94vw)]" : "md:w-[min(560px,94vw)]"}`}
        >
          {bare ? (
            <VisuallyHidden.Root>
              <Dialog.Title>{title}</Dialog.Title>
              {about && <Dialog.Description>{about}</Dialog.Description>}
            </VisuallyHidden.Root>
          ) : (
            <header className="hairline-b flex items-start gap-3 px-4 py-3">
              <div className="min-w-0 flex-1">
                <Dialog.Title className="m-0 truncate text-prose font-semibold">{title}</Dialog.Title>
                {about && <Dialog.Description className="m-0 text-ink-2">{about}</Dialog.Description>}
              </div>
              <IconButton label="Close" onClick={onClose}>
                <Icon name="close" />
              </IconButton>
            </header>
          )}
          <div className="min-h-0 flex-1 overflow-auto">{children}</div>
          {footer && <footer className="hairline-t flex justify-end gap-2 px-4 py-3">{footer}</footer>}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
