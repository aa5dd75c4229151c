/** An address that leads nowhere. */
import { Link } from "@tanstack/react-router";
import { Empty } from "@/ui/Empty";

export function NotFoundPage() {
  return (
    <Empty page title="There is nothing at this address" action={<Link to="/">To the sessions</Link>}>
      The link may be old, or a part of it is missing.
    </Empty>
  );
}
