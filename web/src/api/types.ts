/** Short names for the shapes the server's document describes. Nothing here is written by hand but the names. */
import type { components } from "@/gen/api";

type Schemas = components["schemas"];

export type SessionView = Schemas["SessionView"];
export type SessionStatus = SessionView["status"];
export type SessionConfig = Schemas["SessionConfig"];
export type Workflow = SessionConfig["workflow"];
export type InteractionView = Schemas["InteractionView"];
export type InteractionOpened = Schemas["InteractionOpened"];
export type OpenItem = Schemas["OpenItem"];
export type QueuedView = Schemas["QueuedView"];
export type ServerConfig = Schemas["ServerConfig"];
export type Me = Schemas["Me"];
export type Scope = Me["scopes"][number];
export type Usage = Schemas["Usage"];
export type Envelope = Schemas["Envelope"];
export type StreamFrame = Schemas["StreamFrame"];
export type DurableEvent = StreamFrame["data"];
export type Block = Schemas["BlockDone"]["block"];
export type ToolDone = Schemas["ToolDone"];
export type RunDone = Schemas["RunDone"];
export type Verdict = Schemas["Verdict"];
export type Problem = Schemas["Problem"];
export type Task = Schemas["Task"];
export type TaskRow = Schemas["TaskRow"];
export type DiffFile = Schemas["DiffFile"];
export type Hunk = Schemas["Hunk"];
export type NewSession = Schemas["NewSession"];
export type NewMessage = Schemas["NewMessage"];
export type ImagePart = Schemas["ImagePart"];
export type Change = Schemas["Change"];
