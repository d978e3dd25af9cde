import type { ConsolePartnerDetail } from "@berth/contract/console.ts";
import { useState, type ChangeEvent } from "react";
import { useConsole } from "../connection/context.ts";
import { Field, FormDialog } from "../parts/form.tsx";
import { durationText } from "../parts/format.ts";

interface Props {
  partner: ConsolePartnerDetail;
  onSaved: () => Promise<void>;
  onClose: () => void;
}

// The quotas and rules of a partner, which its operator sets.
export function LimitsForm({ partner, onSaved, onClose }: Props) {
  const { api } = useConsole();
  const [values, setValues] = useState(() => valuesOf(partner));
  const bind = (name: keyof Values) => ({
    className: "field",
    value: values[name],
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) => setValues({ ...values, [name]: event.target.value }),
  });
  const save = async () => {
    await api.post("/partner/limits", { query: { partner: partner.id }, body: { version: partner.version, ...values } });
    await onSaved();
  };
  return (
    <FormDialog title={`Change ${partner.name}`} action="Save" onSubmit={save} onClose={onClose}>
      {(faults) => (
        <>
          <Field label="Name" fault={faults.name}>
            <input {...bind("name")} autoFocus maxLength={100} />
          </Field>
          <Field label="State" help="A suspended partner’s keys are rejected. Its sessions stay as they are." fault={faults.state}>
            <select {...bind("state")}>
              <option value="active">active</option>
              <option value="suspended">suspended</option>
            </select>
          </Field>
          <div className="columns">
            <Field label="Live sessions" help="Empty: no limit" fault={faults.maxSessions}>
              <input {...bind("maxSessions")} inputMode="numeric" />
            </Field>
            <Field label="Live sessions per user" help="Empty: no limit" fault={faults.maxSessionsPerUser}>
              <input {...bind("maxSessionsPerUser")} inputMode="numeric" />
            </Field>
            <Field label="Requests a minute and key" help="Empty: the server’s; 0: no limit" fault={faults.ratePerMinute}>
              <input {...bind("ratePerMinute")} inputMode="numeric" />
            </Field>
            <Field label="Pause when unused for" help="Such as 30m; empty: never" fault={faults.idleTimeout}>
              <input {...bind("idleTimeout")} />
            </Field>
            <Field label="Users may extend to" help="Such as 8h; empty: never" fault={faults.maxTimeout}>
              <input {...bind("maxTimeout")} />
            </Field>
            <Field label="Timeout" fault={faults.onTimeout}>
              <select {...bind("onTimeout")}>
                <option value="">the server’s default</option>
                <option value="pause">pauses the session</option>
                <option value="destroy">destroys the session</option>
              </select>
            </Field>
            <Field label="Opening a paused session" fault={faults.autoResume}>
              <select {...bind("autoResume")}>
                <option value="">the server’s default</option>
                <option value="yes">resumes it</option>
                <option value="no">does not resume it</option>
              </select>
            </Field>
          </div>
        </>
      )}
    </FormDialog>
  );
}

type Values = ReturnType<typeof valuesOf>;

const valuesOf = (partner: ConsolePartnerDetail) => ({
  name: partner.name,
  state: partner.state as string,
  maxSessions: String(partner.maxSessions ?? ""),
  maxSessionsPerUser: String(partner.maxSessionsPerUser ?? ""),
  ratePerMinute: String(partner.ratePerMinute ?? ""),
  idleTimeout: durationText(partner.idleTimeoutMs),
  maxTimeout: durationText(partner.maxTimeoutMs),
  onTimeout: partner.onTimeout ?? "",
  autoResume: partner.autoResume === null ? "" : partner.autoResume ? "yes" : "no",
});
