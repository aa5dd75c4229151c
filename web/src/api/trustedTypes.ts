/** Trusted Types policy: script URLs of this server's origin only. */

interface Policy {
  createScriptURL(url: string): string;
}

interface Factory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy;
}

const rules: Policy = {
  createScriptURL(url: string): string {
    if (new URL(url, location.href).origin !== location.origin)
      throw new TypeError(`Not a URL of this server: ${url}`);
    return url;
  },
};

let policy: Policy | null = null;

/** A URL that workers and service workers may be started from. */
export function scriptUrl(url: string | URL): string {
  const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
  policy ??= factory ? factory.createPolicy("bobstay", rules) : rules;
  return policy.createScriptURL(String(url));
}

export { scriptUrl as trustedScript };
