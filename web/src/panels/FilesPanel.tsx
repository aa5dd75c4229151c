/** The files of a session. */
import type { SessionView } from "@/api/types";

export function FilesPanel({ session }: { session: SessionView }) {
  return <p>{session.id}</p>;
}
