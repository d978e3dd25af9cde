import type { ConsolePartnerDetail } from "@berth/contract/console.ts";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { Facts } from "../parts/facts.tsx";
import { count, dateTime, durationText } from "../parts/format.ts";
import { AppearanceForm } from "./appearance-form.tsx";
import { SupportSetting } from "./support-setting.tsx";
import { LimitsForm } from "./limits-form.tsx";

// The settings of a partner, with the forms that change them.
export function PartnerSettings({ partner, onChanged }: { partner: ConsolePartnerDetail; onChanged: () => Promise<void> }) {
  const { viewer } = useConsole();
  // The partner as it was when the form was opened, so that the server notices changes since.
  const [editing, setEditing] = useState<{ form: "limits" | "appearance"; partner: ConsolePartnerDetail } | null>(null);
  const Form = editing?.form === "limits" ? LimitsForm : AppearanceForm;
  return (
    <>
      <div className="head">
        <h2>Settings</h2>
        <span className="grow" />
        {viewer.kind === "operator" && (
          <button type="button" className="button" onClick={() => setEditing({ form: "limits", partner })}>
            Change limits
          </button>
        )}
        <button type="button" className="button" onClick={() => setEditing({ form: "appearance", partner })}>
          Change origins and branding
        </button>
      </div>
      <Facts facts={factsOf(partner)} />
      {viewer.kind === "partner" && <SupportSetting partner={partner} onChanged={onChanged} />}
      {editing && <Form partner={editing.partner} onSaved={onChanged} onClose={() => setEditing(null)} />}
    </>
  );
}

const factsOf = (partner: ConsolePartnerDetail) =>
  [
    ["Id", <span className="mono">{partner.id}</span>],
    ["Created", dateTime(partner.createdAt)],
    ["Requests", partner.ratePerMinute === null ? "the server’s limit" : `${count(partner.ratePerMinute)} a minute and key`],
    ["Unused", partner.idleTimeoutMs === null ? "sessions run until their timeout" : `paused after ${durationText(partner.idleTimeoutMs)}`],
    ["Extending", partner.maxTimeoutMs === null ? "not by users" : `by users, up to ${durationText(partner.maxTimeoutMs)}`],
    ["Timeout", partner.onTimeout === null ? "the server’s default" : `${partner.onTimeout}s the session`],
    ["Origins", partner.origins.length === 0 ? "none" : partner.origins.join(", ")],
    ["Support", partner.supportAccess ? "may look at workspaces" : "may not look at workspaces"],
    ["Branding", <Branding partner={partner} />],
  ] as const;

function Branding({ partner: { branding } }: { partner: ConsolePartnerDetail }) {
  const { logo, accent, hideAgent, offerSsh } = branding;
  const texts = [accent, hideAgent && "agent hidden", offerSsh && "SSH offered"].filter(Boolean).join(", ");
  return (
    <span className="row">
      {logo !== null && <img className="logo-preview" src={logo} alt="The logo" />}
      {texts || (logo === null && "Berth’s own")}
    </span>
  );
}
