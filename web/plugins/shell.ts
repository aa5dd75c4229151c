/** Tells the service worker at build time which files make up the page: what it needs to open, and no more. */
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** Parts that are fetched when first needed, and needed without a network, too. */
const PARTS = /\/src\/(pages\/(SessionPage|InboxPage|NewSessionPage|home\/Overview)|ui\/SheetBox|shell\/ConfirmBox|dock\/(Plan|Question))\.tsx$/;
const FILES = ["/", "/icon.svg", "/icon-192.png", "/manifest.webmanifest"];

export function shellList(): Plugin {
  return {
    name: "shell-list",
    apply: "build",
    enforce: "post",
    generateBundle: {
      // After all others: chunks that were nothing but styles are gone by then.
      order: "post",
      handler(_, bundle) {
        const worker = bundle["sw.js"];
        if (worker?.type !== "chunk") return;
        const files = new Set(FILES);
        const add = (name: string): void => {
          const chunk = bundle[name];
          if (files.has(`/${name}`) || chunk?.type !== "chunk") return;
          files.add(`/${name}`);
          for (const each of chunk.viteMetadata?.importedCss ?? []) files.add(`/${each}`);
          for (const each of chunk.imports) add(each);
        };
        for (const chunk of Object.values(bundle))
          if (chunk.type === "chunk" && chunk !== worker && (chunk.isEntry || PARTS.test(chunk.facadeModuleId ?? "")))
            add(chunk.fileName);
        const list = [...files].sort().join("|");
        const version = createHash("sha256").update(list).digest("hex").slice(0, 12);
        worker.code = worker.code.replace("__SHELL__", list).replace("__VERSION__", version);
      },
    },
  };
}
