/** Only http(s) and mailto URLs become links. */

const SAFE = new Set(["http:", "https:", "mailto:"]);

export function safeHref(href: string): string | null {
  try {
    const url = new URL(href);
    return SAFE.has(url.protocol) && !url.username && !url.password ? url.href : null;
  } catch {
    return null;
  }
}

export function hostOf(href: string): string {
  try {
    return new URL(href).host;
  } catch {
    return "";
  }
}
