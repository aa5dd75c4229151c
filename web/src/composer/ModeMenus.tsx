/** Menus for workflow, model and permission mode. They show the server's state. */
import { type ReactNode, useState } from "react";
import type { PermissionMode, SessionView, Workflow } from "@/api/types";
import { serverNow } from "@/format/serverClock";
import { configure } from "@/state/actions";
import { hasScope, useApp } from "@/state/app";
import { type Capabilities, useInventory } from "@/state/inventory";
import {
  BYPASS,
  modelAlias,
  modelChoices,
  modeNow,
  permissionChoices,
  permissionLabel,
  workflowChange,
  workflowChoices,
  workflowLabel,
} from "@/state/modes";
import { Button } from "@/ui/Button";
import { Icon } from "@/ui/Icon";
import { Menu, MenuChoice, MenuItem, MenuLabel, MenuSeparator } from "@/ui/Menu";
import { useNarrow } from "@/ui/media";
import { Sheet } from "@/ui/Sheet";
import { BypassDialog } from "./Bypass";
import { isBusy } from "./sessionStatus";

interface ModeChoices {
  workflow: ReactNode;
  model: ReactNode;
  permission: ReactNode;
}

export function ModeMenus({ session }: { session: SessionView }) {
  const narrow = useNarrow();
  const config = useApp((state) => state.config);
  const { capabilities } = useInventory(session.id) ?? {};
  const [asking, setAsking] = useState(false);
  const [naming, setNaming] = useState(false);
  const parts = useModeChoices(session, capabilities, setAsking, setNaming);
  if (!config || !parts) return null;
  const [workflow, model, permission] = [
    workflowLabel(config, session.config.workflow),
    modelAlias(config, session.model) || "Model",
    permissionLabel(config, modeNow(session, serverNow())),
  ];
  return (
    <>
      {narrow ? (
        <Menu
          align="start"
          label="Session options"
          trigger={<Trigger about="Session options">{model}</Trigger>}
        >
          <MenuLabel>Permission</MenuLabel>
          {parts.permission}
          <MenuSeparator />
          <MenuLabel>Model</MenuLabel>
          {parts.model}
          <MenuSeparator />
          <MenuLabel>Workflow</MenuLabel>
          {parts.workflow}
        </Menu>
      ) : (
        <>
          <Menu align="start" label="Workflow" trigger={<Trigger about="Workflow">{workflow}</Trigger>}>
            {parts.workflow}
          </Menu>
          <Menu align="start" label="Model" trigger={<Trigger about="Model">{model}</Trigger>}>
            {parts.model}
          </Menu>
          <Menu align="start" label="Permission" trigger={<Trigger about="Permission">{permission}</Trigger>}>
            {parts.permission}
          </Menu>
        </>
      )}
      <BypassDialog session={session} open={asking} onOpen={setAsking} />
      <ModelName session={session} open={naming} onClose={() => setNaming(false)} />
    </>
  );
}

function useModeChoices(
  session: SessionView,
  capabilities: Capabilities | undefined,
  setAsking: (asking: boolean) => void,
  setNaming: (naming: boolean) => void,
): ModeChoices | null {
  const config = useApp((state) => state.config);
  const me = useApp((state) => state.me);
  if (!config) return null;
  const change = hasScope(me, "operate");
  const set = (body: Parameters<typeof configure>[1]) => void configure(session.id, body);
  const permission = permissionChoices(config, session.config.workflow, hasScope(me, "approve")).map(
    (each) => ({
      ...each,
      disabled: each.disabled === true || !change || capabilities?.change_permission_mode === false,
    }),
  );
  const busy = isBusy(session);
  return {
    workflow: (
      <>
        {busy && <Note>Stop the agent to change the workflow.</Note>}
        <MenuChoice
          value={session.config.workflow ?? "chat"}
          choices={workflowChoices(config, busy || !change || capabilities?.change_workflow === false)}
          onChange={(workflow) => set(workflowChange(config, workflow as Workflow, session.permission_mode))}
        />
      </>
    ),
    model: (
      <>
        <MenuChoice
          value={modelAlias(config, session.model)}
          choices={modelChoices(config).map((each) => ({
            ...each,
            disabled: each.disabled === true || !change || capabilities?.change_model === false,
          }))}
          onChange={(model) => set({ model })}
        />
        <MenuItem disabled={!change} onSelect={() => window.setTimeout(() => setNaming(true))}>
          Other model…
        </MenuItem>
      </>
    ),
    permission: (
      <MenuChoice
        value={modeNow(session, serverNow())}
        choices={permission}
        onChange={(mode) =>
          mode === BYPASS
            ? window.setTimeout(() => setAsking(true))
            : set({ permission_mode: mode as PermissionMode })
        }
      />
    ),
  };
}

function Trigger({ about, children, ...rest }: { about: string; children: ReactNode }) {
  return (
    <Button
      look="quiet"
      aria-label={`${about}: ${String(children)}`}
      title={about}
      {...rest}
      className="max-w-44 gap-1 px-1.5"
    >
      <span className="truncate">{children}</span>
      <Icon name="chevronDown" size={12} className="text-ink-3" />
    </Button>
  );
}

function Note({ children }: { children: string }) {
  return <p className="m-0 px-2 py-1 text-small text-ink-3">{children}</p>;
}

function ModelName({ session, open, onClose }: { session: SessionView; open: boolean; onClose: () => void }) {
  const [name, setName] = useState("");
  const save = () => {
    onClose();
    if (name.trim()) void configure(session.id, { model: name.trim() });
  };
  return (
    <Sheet
      open={open}
      onClose={onClose}
      title="Other model"
      about="Model id, or provider/id. Used from the next step on."
      footer={
        <Button look="primary" disabled={!name.trim()} onClick={save}>
          Use model
        </Button>
      }
    >
      <form
        className="px-4 py-3"
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        <input
          aria-label="Model name"
          value={name}
          placeholder={session.model}
          onChange={(event) => setName(event.target.value)}
          className="h-8 w-full rounded-box border border-line-strong bg-surface-0 px-2"
        />
      </form>
    </Sheet>
  );
}
