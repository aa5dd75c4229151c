/** Send, or, while the agent works, queue and steer. */
import type { SessionView } from "@/api/types";
import { formatKey } from "@/keys/keymap";
import type { Delivery } from "@/state/actions";
import { isEmpty, useDraft } from "@/state/drafts";
import { Button, IconButton } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Menu, MenuItem } from "@/ui/Menu";
import { isBusy } from "./sessionStatus";

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
          tooltip="Steer now: read before the agent's next step"
          onClick={() => onSend("steer")}
        >
          Steer <Key keys="mod+enter" />
        </Button>
      )}
      <Button type="submit" look="primary" disabled={disabled} tooltip="Read when the turn is over">
        Queue <Key keys="enter" />
      </Button>
      {session.config.inputs !== "queue" && (
        <Menu
          label="More ways to send"
          trigger={
            <IconButton label="More ways to send" disabled={disabled}>
              <Icon name="chevronDown" size={12} />
            </IconButton>
          }
        >
          <MenuItem icon="stop" onSelect={() => onSend("interrupt")}>
            Stop and send
          </MenuItem>
        </Menu>
      )}
    </>
  );
}

function Key({ keys }: { keys: string }) {
  return (
    <span aria-hidden="true" className="text-small opacity-80 pointer-coarse:hidden">
      {formatKey(keys)}
    </span>
  );
}
