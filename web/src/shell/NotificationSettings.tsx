/** How this device tells that somebody is needed: while the page is open, and while it is not. */
import { useEffect, useState } from "react";
import { wordsOf } from "@/api/client";
import { useUi } from "@/state/ui";
import { Switch } from "@/ui/Switch";
import { canPush, pushedHere, subscribe, unsubscribe } from "./push";

const REFUSED = "The browser does not allow notifications of this page. Its own settings change that.";

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
    if (wanted && !(await isAllowed())) setProblem(REFUSED);
    else set({ notify: wanted });
  };
  return (
    <div className="space-y-3">
      <p className="m-0 text-ink-2">
        The title and the sign of the tab say how many need you. This device can also say it:
      </p>
      <Switch
        label="While the page is open and not seen"
        about="When an agent asks something, and when a session fails."
        checked={notify}
        onChange={(wanted) => void here(wanted)}
      />
      <Switch
        label="While the page is closed"
        about={
          push.possible
            ? "By the browser's push service. Only the title and the name of a tool are sent, encrypted."
            : "This browser cannot be reached while the page is closed."
        }
        disabled={!push.possible || push.busy}
        checked={push.on}
        onChange={(wanted) => void push.change(wanted)}
      />
      <Switch
        label="Also when work is done"
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
    if (canPush()) void pushedHere().then((found) => setOn(found !== null));
  }, []);
  const change = async (wanted: boolean, completed = done) => {
    say("");
    if (wanted && !(await isAllowed())) return say(REFUSED);
    setBusy(true);
    try {
      await (wanted ? subscribe(completed) : unsubscribe());
      setOn(wanted);
    } catch (error) {
      say(wordsOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { possible: canPush(), on, busy, change };
}
