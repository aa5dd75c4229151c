/** How wide a panel is now: it may be dragged, widened, or be a phone's whole screen. */
import { useLayoutEffect, useRef, useState } from "react";

export function useRoom() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(420);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.round(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.round(element.clientWidth));
    return () => observer.disconnect();
  }, []);
  return { place, width };
}
