/** The first place: what needs you, what runs, what was done; on a first visit, how to begin. */

import { lazy, Suspense } from "react";
import { Sidebar } from "@/shell/Sidebar";
import { useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { useNarrow } from "@/ui/media";

const overview = () => import("./home/Overview");
const welcome = () => import("./home/Welcome");
const Overview = lazy(async () => ({ default: (await overview()).Overview }));
const Welcome = lazy(async () => ({ default: (await welcome()).Welcome }));
// What will be shown here comes while the server is still asked who is there: it does not jump in later.
if (location.pathname === "/")
  void (useUi.getState().welcomed ? overview() : welcome()).catch(() => undefined);

export function HomePage() {
  return (
    <Suspense fallback={null}>
      <Home />
    </Suspense>
  );
}

function Home() {
  const narrow = useNarrow();
  const welcomed = useUi((state) => state.welcomed);
  const listed = useApp((state) => state.listed);
  const none = useApp((state) => Object.keys(state.sessions).length === 0);
  if (!listed && !narrow) return null;
  // Whoever has sessions knows what they are; what needs them comes first.
  if (listed && none && !welcomed) return <Welcome />;
  if (narrow) {
    // On a phone the list of sessions is the first page.
    return (
      <nav aria-label="Sessions" className="h-full">
        <Sidebar />
      </nav>
    );
  }
  return <Overview />;
}
