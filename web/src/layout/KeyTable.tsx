/** All shortcuts by group. */
import { Link } from "@tanstack/react-router";
import { COMMANDS, type Group } from "@/keys/commands";
import { formatKey, keysOf, useKeymap } from "@/keys/keymap";
import { Kbd } from "@/ui/Kbd";

const GROUPS: Group[] = ["Anywhere", "Lists", "Session", "Decisions", "Transcript", "Panels"];
const ABOUT: Record<Group, string> = {
  Anywhere: "",
  Lists: "Sessions and the inbox.",
  Session: "",
  Decisions: "Only for the request in view, and never while you type.",
  Transcript: "",
  Panels: "",
};

export function KeyTable({ onLeave }: { onLeave: () => void }) {
  const own = useKeymap((state) => state.own);
  return (
    <>
      <div className="gap-8 p-4 sm:columns-2 lg:columns-3">
        {GROUPS.map((group) => (
          <section key={group} aria-label={group} className="mb-5 break-inside-avoid">
            <h3 className="m-0 mb-1 text-[11px] leading-4 font-semibold tracking-wide text-ink-3 uppercase">
              {group}
            </h3>
            {ABOUT[group] && <p className="m-0 mb-1 text-small text-ink-3">{ABOUT[group]}</p>}
            <dl className="m-0">
              {COMMANDS.filter((each) => each.group === group).map(({ id, title }) => {
                const keys = keysOf(id, own).filter(Boolean);
                return (
                  keys.length > 0 && (
                    <div key={id} className="flex min-h-7 items-center gap-3">
                      <dt className="min-w-0 flex-1">{title}</dt>
                      <dd className="m-0 flex gap-1">
                        {keys.map((key) => (
                          <Kbd key={key} keys={formatKey(key)} />
                        ))}
                      </dd>
                    </div>
                  )
                );
              })}
            </dl>
          </section>
        ))}
      </div>
      <p className="m-0 px-4 pb-4 text-ink-3">
        You can{" "}
        <Link
          to="/settings/$part"
          params={{ part: "keys" }}
          onClick={onLeave}
          className="text-accent underline underline-offset-2"
        >
          change shortcuts in the settings
        </Link>
        .
      </p>
    </>
  );
}
