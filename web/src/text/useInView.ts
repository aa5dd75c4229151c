/** Whether an element has come near the viewport; stays true afterwards. */
import { type RefObject, useEffect, useRef, useState } from "react";

export function useInView<T extends Element>(wanted: boolean): [RefObject<T | null>, boolean] {
  const ref = useRef<T>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = ref.current;
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
  return [ref, seen];
}
