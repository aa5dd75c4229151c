/** Home page: overview of sessions, or a welcome on the first visit. */
import { lazy, Suspense } from "react";
import { Sidebar } from "@/layout/Sidebar";
import { useApp } from "@/state/app";
import { useUi } from "@/state/ui";
import { useNarrow } from "@/ui/media";

const overview = () => import("./home/Overview");
const welcome = () => import("./home/Welcome");
const Overview = lazy(async () => ({ default: (await overview()).Overview }));
const Welcome = lazy(async () => ({ default: (await welcome()).Welcome }));
// Load the next chunk during sign-in, so that the content does not jump in later.
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
  // People with sessions see the overview instead of the welcome.
  if (listed && none && !welcomed) return <Welcome />;
  if (narrow) {
    // On phones the session list is the first page.
    return (
      <nav aria-label="Sessions" className="h-full">
        <Sidebar />
      </nav>
    );
  }
  return <Overview />;
}
