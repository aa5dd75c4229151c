/** How devices tell that somebody is needed, and which of them are told. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, said, wordsOf } from "@/api/client";
import { NotificationSettings } from "@/shell/NotificationSettings";
import { complain } from "@/state/actions";
import { Button } from "@/ui/Button";
import { Shown } from "@/ui/Hidden";
import { moment } from "@/words/format";
import { Group, None, Part, Problem, Row, Rows } from "./Part";

export function NotificationsPart() {
  return (
    <Part title="Notifications">
      <Group title="This device">
        <div className="pt-3">
          <NotificationSettings />
        </div>
      </Group>
      <Told />
    </Part>
  );
}

function Told() {
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ["push"],
    queryFn: () => said(api.GET("/push/subscriptions")),
    staleTime: 0,
  });
  const drop = async (id: string) => {
    try {
      await api.DELETE("/push/subscriptions/{id}", { params: { path: { id } } });
    } catch (problem) {
      complain(problem);
    }
    await queries.invalidateQueries({ queryKey: ["push"] });
  };
  return (
    <Group title="Devices that are told while the page is closed">
      {error && <Problem>{wordsOf(error)}</Problem>}
      <Rows label="Devices that are told">
        {data?.subscriptions.map((each) => (
          <Row
            key={each.id}
            actions={
              <Button
                look="quiet"
                aria-label={`Do not tell ${each.label || each.service}`}
                onClick={() => void drop(each.id)}
              >
                Do not tell
              </Button>
            }
          >
            <p className="m-0">
              <span className="font-medium">
                <Shown text={each.label || each.who} />
              </span>{" "}
              {each.mine && <span className="text-small text-done">✓ this one</span>}
            </p>
            <p className="m-0 text-small text-ink-3">
              by {each.service}, since {moment(each.created_at * 1000)}
              {each.completed ? ", also of work that is done" : ""}
            </p>
          </Row>
        ))}
      </Rows>
      {data?.subscriptions.length === 0 && <None>None.</None>}
    </Group>
  );
}
