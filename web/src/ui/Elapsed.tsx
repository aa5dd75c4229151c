/** Elapsed time, updated every second. */
import { useEffect, useState } from "react";
import { serverNow } from "@/format/serverClock";
import { duration } from "@/format/values";

export function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, []);
  const passed = now - since;
  if (since <= 0 || passed < 1000) return null;
  return <span>{duration(Math.floor(passed / 1000) * 1000).replace(".0s", "s")}</span>;
}
