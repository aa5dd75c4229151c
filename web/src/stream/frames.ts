/** WebSocket frames: stored entries with a `seq`, and live frames without. */
import type {
  Cut,
  DurableEvent,
  Envelope,
  InteractionView,
  SessionView,
  StreamFrame,
  TaskRow,
} from "@/api/types";

/** A stored entry, the same from the socket and from a page of the log. */
export interface Entry {
  seq: number;
  id: string;
  parent: string;
  /** Milliseconds since 1970. */
  at: number;
  event: DurableEvent;
  agent: string;
  parentCall: string;
  /** The texts of `event` that were cut. */
  cuts?: Cut[];
}

/** A streamed part of a message, complete up to `offset` + `text`. */
export interface Part {
  message_id?: string;
  index?: number;
  kind?: "text" | "thinking" | "tool_input";
  call_id?: string;
  /** The call that started the sub-agent whose part it is. */
  parent_call?: string;
  name?: string;
  offset?: number;
  text?: string;
}

export interface Timing {
  server_id: string;
  version?: string;
  /** The time by the server's clock, in seconds since 1970. */
  now?: number;
  heartbeat: number;
  silence: number;
  connect: number;
  retry_first: number;
  retry_most: number;
  retry_jitter: number;
  retry_calm: number;
}

export type LiveFrame =
  | { type: "server.hello"; data: Timing }
  | { type: "server.heartbeat"; data: object }
  | { type: "stream.synchronized"; topic: string; data: Synchronized }
  | {
      type: "stream.reset";
      topic: string;
      data: { topic: string; reason: string; seq: number; epoch?: string };
    }
  | { type: "stream.left"; topic: string; data: object }
  | { type: "session.changed"; topic: string; data: { session: SessionView } }
  | { type: "session.deleted"; topic: string; data: { id: string } }
  | { type: "sessions.loading"; topic: string; data: { left: number; total: number } }
  | { type: "interaction.opened"; topic: "app"; data: { session_id: string; interaction: InteractionView } }
  | {
      type: "interaction.resolved";
      topic: "app";
      data: { session_id: string; id: string; outcome: string; by: string };
    }
  | { type: "part.began" | "part.delta" | "part.dropped" | "tool.output"; topic: string; data: Part }
  | { type: "model.requested"; topic: string; data: { model: string } }
  | {
      type: "model.retrying";
      topic: string;
      data: { attempt: number; attempts: number; delay: number; status: number | null; error: string };
    }
  | { type: "diff.changed"; topic: string; data: Record<string, unknown> }
  | { type: "inventory.changed"; topic: string; data: object }
  | { type: "tasks.changed"; topic: string; data: { tasks: TaskRow[] } }
  | { type: "error"; topic?: string; data: { code: string; message: string; id?: string } }
  | { type: "pong"; data: { id: string } };

export interface Synchronized {
  topic: string;
  seq?: number;
  epoch?: string;
  session?: SessionView;
  parts?: Part[];
  sessions?: SessionView[];
  total?: number;
  loading?: number;
  interactions?: { session_id: string; interaction: InteractionView }[];
}

export type Frame = StreamFrame | LiveFrame;

export function isStored(frame: Frame): frame is StreamFrame {
  return typeof (frame as StreamFrame).seq === "number" && (frame as StreamFrame).seq > 0;
}

export function entryOfFrame(frame: StreamFrame): Entry {
  return {
    seq: frame.seq,
    id: frame.id,
    parent: frame.parent ?? "",
    at: Date.parse(frame.ts) || 0,
    event: frame.data,
    agent: frame.agent ?? "",
    parentCall: frame.parent_call ?? "",
    ...(frame.cuts?.length ? { cuts: frame.cuts } : {}),
  };
}

/** Entries of a page of the log. */
export function entriesOf(page: { events: Envelope[]; cuts?: Cut[] }): Entry[] {
  const cuts = new Map<number, Cut[]>();
  for (const cut of page.cuts ?? []) cuts.set(cut.seq ?? 0, [...(cuts.get(cut.seq ?? 0) ?? []), cut]);
  return page.events.map((envelope) => {
    const own = cuts.get(envelope.seq);
    return { ...entryOfEnvelope(envelope), ...(own ? { cuts: own } : {}) };
  });
}

export function entryOfEnvelope(envelope: Envelope): Entry {
  return {
    seq: envelope.seq,
    id: envelope.id,
    parent: envelope.parent,
    at: envelope.at * 1000,
    event: envelope.event,
    agent: envelope.agent ?? "",
    parentCall: envelope.parent_call ?? "",
  };
}
