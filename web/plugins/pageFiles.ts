/** Build plugin: gives the service worker the list of files that the page needs to open offline. */
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

/** Lazy chunks that must be available offline. */
const OFFLINE_CHUNKS = /\/src\/(pages\/(SessionPage|InboxPage|NewSessionPage|home\/Overview)|ui\/SheetBox|layout\/ConfirmBox|approvals\/(PlanReview|QuestionForm))\.tsx$/;
const FILES = ["/", "/icon.svg", "/icon-192.png", "/manifest.webmanifest"];

export function pageFiles(): Plugin {
  return {
    name: "page-files",
    apply: "build",
    enforce: "post",
    generateBundle: {
      // After all other plugins: chunks with nothing but styles are removed by then.
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
          if (chunk.type === "chunk" && chunk !== worker && (chunk.isEntry || OFFLINE_CHUNKS.test(chunk.facadeModuleId ?? "")))
            add(chunk.fileName);
        const list = [...files].sort().join("|");
        const version = createHash("sha256").update(list).digest("hex").slice(0, 12);
        worker.code = worker.code.replace("__FILES__", list).replace("__VERSION__", version);
      },
    },
  };
}
