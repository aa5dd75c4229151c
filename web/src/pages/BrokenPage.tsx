/** A page that could not be loaded or drawn: says so in its place, and what to do. */
import { wordsOf } from "@/api/client";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";

export function BrokenPage({ error }: { error: unknown }) {
  const words = wordsOf(error);
  return (
    <Empty
      page
      title="This page cannot be shown"
      action={
        <Button look="primary" onClick={() => location.reload()}>
          Reload
        </Button>
      }
    >
      {words.slice(0, 1).toUpperCase() + words.slice(1)}
    </Empty>
  );
}
