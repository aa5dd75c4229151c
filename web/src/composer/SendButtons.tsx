/** Send; or, while the agent works, queue and steer: each button says which, and by which key. */
import type { SessionView } from "@/api/types";
import { shown } from "@/keys/keymap";
import type { Delivery } from "@/state/actions";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem } from "@/ui/Menu";
import { isEmpty, useDraft } from "./drafts";
import { isBusy } from "./standing";

interface Props {
  session: SessionView;
  steers: boolean;
  refused: string;
  onSend: (delivery: Delivery) => void;
}

export function SendButtons({ session, steers, refused, onSend }: Props) {
  const empty = useDraft(session.id, isEmpty);
  const disabled = empty || refused !== "";
  if (!isBusy(session)) {
    return (
      <Button type="submit" look="primary" disabled={disabled}>
        Send <Key keys="enter" />
      </Button>
    );
  }
  return (
    <>
      {steers && (
        <Button
          look="quiet"
          disabled={disabled}
          tip="Tell it now: it reads this before its next step"
          onClick={() => onSend("steer")}
        >
          Steer <Key keys="mod+enter" />
        </Button>
      )}
      <Button type="submit" look="primary" disabled={disabled} tip="It reads this when the turn is over">
        Queue <Key keys="enter" />
      </Button>
      {session.config.inputs !== "queue" && (
        <Menu
          label="Other ways to send"
          trigger={
            <IconButton label="Other ways to send" disabled={disabled}>
              <Icon name="chevronDown" size={12} />
            </IconButton>
          }
        >
          <MenuItem icon="stop" onSelect={() => onSend("interrupt")}>
            Stop the agent and send
          </MenuItem>
        </Menu>
      )}
    </>
  );
}

function Key({ keys }: { keys: string }) {
  return (
    <span aria-hidden="true" className="text-small opacity-80 pointer-coarse:hidden">
      {shown(keys)}
    </span>
  );
}
