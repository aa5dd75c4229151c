/** Notification settings, and the devices that get push notifications. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, errorMessage, unwrap } from "@/api/client";
import { moment } from "@/format/values";
import { NotificationSettings } from "@/layout/NotificationSettings";
import { showError } from "@/state/actions";
import { Button } from "@/ui/Button";
import { VisibleText } from "@/ui/VisibleText";
import { Group, None, Problem, Row, Rows, SettingsSection } from "./SettingsSection";

export function NotificationsSettings() {
  return (
    <SettingsSection title="Notifications">
      <Group title="This device">
        <div className="pt-3">
          <NotificationSettings />
        </div>
      </Group>
      <PushDevices />
    </SettingsSection>
  );
}

function PushDevices() {
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ["push"],
    queryFn: () => unwrap(api.GET("/push/subscriptions")),
    staleTime: 0,
  });
  const drop = async (id: string) => {
    try {
      await api.DELETE("/push/subscriptions/{id}", { params: { path: { id } } });
    } catch (problem) {
      showError(problem);
    }
    await queries.invalidateQueries({ queryKey: ["push"] });
  };
  return (
    <Group title="Devices with push notifications">
      {error && <Problem>{errorMessage(error)}</Problem>}
      <Rows label="Devices with push notifications">
        {data?.subscriptions.map((each) => (
          <Row
            key={each.id}
            actions={
              <Button
                look="quiet"
                aria-label={`Stop notifying ${each.label || each.service}`}
                onClick={() => void drop(each.id)}
              >
                Stop notifying
              </Button>
            }
          >
            <p className="m-0">
              <span className="font-medium">
                <VisibleText text={each.label || each.who} />
              </span>{" "}
              {each.mine && <span className="text-small text-done">✓ this device</span>}
            </p>
            <p className="m-0 text-small text-ink-3">
              by {each.service}, since {moment(each.created_at * 1000)}
              {each.completed ? ", also when sessions finish" : ""}
            </p>
          </Row>
        ))}
      </Rows>
      {data?.subscriptions.length === 0 && <None>None.</None>}
    </Group>
  );
}
