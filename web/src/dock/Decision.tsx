/** One thing a person is asked, with all that is needed to decide. */
import type { InteractionOpened, InteractionView, SessionView } from "@/api/types";
import { useCommand } from "@/keys/useCommand";
import { decide } from "@/state/actions";
import { Button } from "@/ui/Button";
import { Shown } from "@/ui/Hidden";

interface Props {
  session: SessionView;
  interaction: InteractionView;
  opened: InteractionOpened;
  onDone?: () => void;
}

export function Decision({ interaction, opened, onDone }: Props) {
  const answer = async (decision: "allow" | "deny") => {
    await decide(interaction.id, { decision, input_sha256: interaction.input_sha256 });
    onDone?.();
  };
  useCommand("approve", () => void answer("allow"));
  useCommand("deny", () => void answer("deny"));
  return (
    <section aria-label="Needs you" className="hairline-t bg-needs-soft p-3">
      <p className="m-0 text-needs">{opened.call.name} wants to run</p>
      <pre className="m-0 overflow-auto font-mono text-code">
        <Shown text={JSON.stringify(opened.call.input, null, 2)} />
      </pre>
      <div className="mt-2 flex gap-2">
        <Button look="needs" command="approve" onClick={() => void answer("allow")}>
          Allow
        </Button>
        <Button command="deny" onClick={() => void answer("deny")}>
          Deny
        </Button>
      </div>
    </section>
  );
}
