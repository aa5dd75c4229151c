/** Search parameters of addresses. */

/** Search parameters of a link to a session. */
export interface SessionSearch {
  row?: string;
  call?: string;
  ask?: string;
  /** A file in the session's directory. */
  file?: string;
}

export function word(value: unknown): string | undefined {
  return typeof value === "string" && value ? value : undefined;
}

export function sessionSearch(search: Record<string, unknown>): SessionSearch {
  const found: SessionSearch = {};
  for (const name of ["row", "call", "ask", "file"] as const) {
    const given = word(search[name]);
    if (given) found[name] = given;
  }
  return found;
}
