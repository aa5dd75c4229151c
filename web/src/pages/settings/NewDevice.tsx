/** One-time code for a new device with the selected scopes. */
import { type FormEvent, useState } from "react";
import { api, errorMessage, unwrap } from "@/api/client";
import type { Scope } from "@/api/types";
import { clock } from "@/format/values";
import { Button } from "@/ui/Button";
import { copy } from "@/ui/copy";
import { Field, INPUT } from "@/ui/Field";
import { Icon } from "@/ui/Icon";
import { ScopeBoxes } from "./ScopeBoxes";
import { Group, Problem } from "./SettingsSection";

interface Made {
  address: string;
  label: string;
  expires: number;
}

export function NewDevice() {
  const [label, setLabel] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(["read", "approve"]);
  const [made, setMade] = useState<Made | null>(null);
  const [problem, setProblem] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      const body = { label: label.trim(), scopes, expires_in: 600, lifetime: 2_592_000 };
      const code = await unwrap(api.POST("/auth/codes", { body }));
      setMade({
        address: `${location.origin}/${code.fragment}`,
        label: label.trim(),
        expires: code.expires_at,
      });
      setLabel("");
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  return (
    <Group title="Add a device">
      <form
        onSubmit={(event) => void submit(event)}
        className="flex max-w-[560px] flex-col items-start gap-3 pt-3"
      >
        <Field
          className="w-full"
          label="Name"
          about="Decisions made on it are recorded with your name and this one."
        >
          {(given) => (
            <input
              {...given}
              value={label}
              maxLength={60}
              placeholder="phone"
              onChange={(event) => setLabel(event.target.value)}
              className={INPUT}
            />
          )}
        </Field>
        <ScopeBoxes value={scopes} onChange={setScopes} />
        <Button look="primary" type="submit" disabled={!label.trim() || scopes.length === 0}>
          Create code
        </Button>
        {problem && <Problem>{problem}</Problem>}
      </form>
      {made && <Code made={made} />}
    </Group>
  );
}

function Code({ made: { address, label, expires } }: { made: Made }) {
  const local = /^(127\.|localhost|\[::1\])/.test(location.host);
  return (
    <div role="status" className="mt-3 max-w-[720px] rounded-box bg-accent-soft px-3 py-2">
      <p className="m-0">
        Open this on {label}. Valid once, until {clock(expires * 1000)}.
      </p>
      <p className="m-0 flex items-center gap-2">
        <code className="min-w-0 flex-1 font-mono text-code break-all select-all">{address}</code>
        <Button icon={<Icon name="copy" size={14} />} onClick={() => void copy(address, "Link copied")}>
          Copy
        </Button>
      </p>
      {local && (
        <p className="m-0 text-small text-ink-2">
          This address only works on the server's machine. For a phone, let the server listen where the phone
          can reach it, or use a tunnel.
        </p>
      )}
    </div>
  );
}
