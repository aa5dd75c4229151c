/** URL of a file's raw bytes. */

export function rawUrl(sessionId: string, path: string): string {
  return `/api/v1/sessions/${encodeURIComponent(sessionId)}/file/raw?path=${encodeURIComponent(path)}`;
}
