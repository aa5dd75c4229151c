/** Notification settings of this device, for the open and the closed page. */
import { useEffect, useState } from "react";
import { errorMessage } from "@/api/client";
import { useUi } from "@/state/ui";
import { Switch } from "@/ui/Switch";
import { canPush, currentSubscription, subscribe, unsubscribe } from "./push";

const BLOCKED = "Notifications are blocked for this page. Allow them in the browser's settings.";

async function isAllowed(): Promise<boolean> {
  if (typeof Notification === "undefined") return false;
  return Notification.permission === "granted" || (await Notification.requestPermission()) === "granted";
}

export function NotificationSettings() {
  const { notify, notifyDone, set } = useUi();
  const [problem, setProblem] = useState("");
  const push = usePush(notifyDone, setProblem);
  const here = async (wanted: boolean) => {
    setProblem("");
    if (wanted && !(await isAllowed())) setProblem(BLOCKED);
    else set({ notify: wanted });
  };
  return (
    <div className="space-y-3">
      <p className="m-0 text-ink-2">
        The tab's title and icon show how many requests need you. Also notify this device:
      </p>
      <Switch
        label="When this tab is in the background"
        about="For approval requests and failed sessions."
        checked={notify}
        onChange={(wanted) => void here(wanted)}
      />
      <Switch
        label="When the page is closed"
        about={
          push.possible
            ? "Through the browser's push service. Only the title and the tool name are sent, encrypted."
            : "This browser does not support push notifications."
        }
        disabled={!push.possible || push.busy}
        checked={push.on}
        onChange={(wanted) => void push.change(wanted)}
      />
      <Switch
        label="Also when a session finishes"
        checked={notifyDone}
        disabled={!notify && !push.on}
        onChange={(wanted) => {
          set({ notifyDone: wanted });
          if (push.on) void push.change(true, wanted);
        }}
      />
      {problem && (
        <p role="alert" className="m-0 text-failed">
          {problem}
        </p>
      )}
    </div>
  );
}

function usePush(done: boolean, say: (problem: string) => void) {
  const [on, setOn] = useState(false);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (canPush()) void currentSubscription().then((found) => setOn(found !== null));
  }, []);
  const change = async (wanted: boolean, completed = done) => {
    say("");
    if (wanted && !(await isAllowed())) return say(BLOCKED);
    setBusy(true);
    try {
      await (wanted ? subscribe(completed) : unsubscribe());
      setOn(wanted);
    } catch (error) {
      say(errorMessage(error));
    } finally {
      setBusy(false);
    }
  };
  return { possible: canPush(), on, busy, change };
}
