/** Highlights matches with the CSS Custom Highlight API; browsers without it only mark the row. */

const NAME = "found";
const MOST = 2000;

/** Highlights the text within an element until the returned function is called. */
export function highlightMatches(root: HTMLElement, needle: string): () => void {
  if (!("highlights" in CSS) || !needle) return () => undefined;
  let due = 0;
  const now = () => {
    due = 0;
    CSS.highlights.set(NAME, new Highlight(...ranges(root, needle.toLowerCase())));
  };
  const later = () => {
    if (!due) due = requestAnimationFrame(now);
  };
  const observer = new MutationObserver(later);
  observer.observe(root, { childList: true, subtree: true, characterData: true });
  now();
  return () => {
    observer.disconnect();
    cancelAnimationFrame(due);
    CSS.highlights.delete(NAME);
  };
}

function ranges(root: HTMLElement, wanted: string): Range[] {
  const found: Range[] = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && found.length < MOST; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue?.length ?? 0));
      found.push(range);
    }
  }
  return found;
}
