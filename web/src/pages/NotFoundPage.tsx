/** Not found page. */
import { Link } from "@tanstack/react-router";
import { Empty } from "@/ui/Empty";

export function NotFoundPage() {
  return (
    <Empty page title="Page not found" action={<Link to="/">Back to sessions</Link>}>
      The link may be outdated or incomplete.
    </Empty>
  );
}
