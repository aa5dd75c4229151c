/** Whether an element has come near to what is seen; once it has, it counts as seen for good. */
import { type RefObject, useEffect, useRef, useState } from "react";

export function useSeen<T extends Element>(wanted: boolean): [RefObject<T | null>, boolean] {
  const place = useRef<T>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!wanted || seen || !element) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
      },
      { rootMargin: "600px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [wanted, seen]);
  return [place, seen];
}
