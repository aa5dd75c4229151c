/** Agents and commands in the background of a session: what they are, their state and runtime, and Stop. */
import { useState } from "react";
import type { BackgroundView, SessionView } from "@/api/types";
import { duration } from "@/format/values";
import { stopBackground } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { Button } from "@/ui/Button";
import { backgroundStyle } from "@/ui/backgroundStyle";
import { Elapsed } from "@/ui/Elapsed";
import { Icon } from "@/ui/Icon";
import { VisibleText } from "@/ui/VisibleText";
import { backgroundList, isGoing, kindOf } from "./backgroundList";

export function BackgroundItems({ session }: { session: SessionView }) {
  const allowed = useApp((state) => hasScope(state.me, "operate")) && !session.elsewhere;
  const items = backgroundList(session.background);
  if (items.length === 0) return null;
  const going = items.filter(isGoing).length;
  return (
    <section aria-label="Background" className="hairline-b pb-1">
      <h2 className="m-0 flex h-8 items-center gap-2 px-3 text-small font-semibold text-ink-2">
        Background
        <span className="tabular font-normal text-ink-3">
          {going > 0 ? `${going} running` : "none running"}
        </span>
      </h2>
      <ul className="m-0 list-none p-0">
        {items.map((item) => (
          <Line key={item.id} item={item} session={session} allowed={allowed} />
        ))}
      </ul>
    </section>
  );
}

function Line({ item, session, allowed }: { item: BackgroundView; session: SessionView; allowed: boolean }) {
  const [stopping, setStopping] = useState(false);
  const { shape, word, ink } = backgroundStyle(item);
  const asks = session.interactions.some((each) => each.agent === item.id);
  const stop = async () => {
    setStopping(true);
    await stopBackground(session.id, item.id);
    setStopping(false);
  };
  return (
    <li className="flex items-start gap-2 px-3 py-1">
      <span
        aria-hidden="true"
        className={`w-3.5 shrink-0 text-center ${asks ? "pulse-needs text-needs" : ink}`}
      >
        {asks ? "◆" : shape}
      </span>
      <Icon name={item.kind === "agent" ? "robot" : "terminal"} size={14} className="mt-0.5 text-ink-3" />
      <div className="min-w-0 flex-1">
        <p className="m-0 truncate" title={item.title}>
          <VisibleText text={item.title || item.id} />
        </p>
        <p className="tabular m-0 text-small break-words text-ink-3">
          {kindOf(item, session.background)} ·{" "}
          <span className={asks ? "text-needs" : ""}>{asks ? "needs you" : word}</span>
          <Runtime item={item} />
        </p>
      </div>
      {allowed && item.state === "running" && (
        <Button
          look="quiet"
          className="h-6 shrink-0 px-1.5 text-small"
          aria-label={`Stop ${item.title || item.id}`}
          disabled={stopping}
          onClick={() => void stop()}
        >
          {stopping ? "Stopping" : "Stop"}
        </Button>
      )}
    </li>
  );
}

function Runtime({ item }: { item: BackgroundView }) {
  if (item.state === "running")
    return (
      <>
        {" · "}
        <Elapsed since={item.started_at * 1000} />
      </>
    );
  return item.ended_at ? ` · ${duration((item.ended_at - item.started_at) * 1000)}` : null;
}
