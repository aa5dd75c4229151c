/** Confirmation dialog for actions that cannot be undone. Cancel has the focus. */
import { AlertDialog } from "radix-ui";
import { Button } from "@/ui/Button";
import { useConfirmRequest } from "@/ui/confirm";
import { useRestoreFocus } from "@/ui/restoreFocus";

export default function ConfirmBox() {
  const { question, answer } = useConfirmRequest();
  const focus = useRestoreFocus();
  return (
    <AlertDialog.Root open={question !== null} onOpenChange={(open) => !open && answer(false)}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="fixed inset-0 z-50 bg-[oklch(0.15_0.01_240/0.55)]" />
        <AlertDialog.Content
          {...focus}
          className="fixed z-50 bg-surface-1 p-4 shadow-float outline-none max-md:inset-x-0 max-md:bottom-0 max-md:rounded-t-xl max-md:pb-[max(16px,env(safe-area-inset-bottom))] md:top-[24vh] md:left-1/2 md:w-[min(440px,94vw)] md:-translate-x-1/2 md:rounded-xl"
        >
          <AlertDialog.Title className="m-0 text-prose font-semibold">{question?.title}</AlertDialog.Title>
          <AlertDialog.Description className="m-0 mt-1 text-ink-2">{question?.text}</AlertDialog.Description>
          <div className="mt-4 flex justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look={question?.danger ? "danger" : "primary"} onClick={() => answer(true)}>
                {question?.action}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
