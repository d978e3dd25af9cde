import type { ConsolePartnerDetail } from "@berth/contract/console.ts";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { Field, FormDialog } from "../parts/form.tsx";
import { LogoField } from "./logo-field.tsx";

interface Props {
  partner: ConsolePartnerDetail;
  onSaved: () => Promise<void>;
  onClose: () => void;
}

// Where a partner's workspaces may be embedded, and how they look.
export function AppearanceForm({ partner, onSaved, onClose }: Props) {
  const { api } = useConsole();
  const [origins, setOrigins] = useState(partner.origins.join("\n"));
  const [accent, setAccent] = useState(partner.branding.accent ?? "");
  const [logo, setLogo] = useState(partner.branding.logo ?? "");
  const [hidesAgent, setHidesAgent] = useState(partner.branding.hideAgent);
  const [offersSsh, setOffersSsh] = useState(partner.branding.offerSsh);
  const save = async () => {
    const choices = { hideAgent: hidesAgent ? "yes" : "no", offerSsh: offersSsh ? "yes" : "no" };
    const body = { version: partner.version, origins, accent, logo, ...choices };
    await api.post("/partner/appearance", { query: { partner: partner.id }, body });
    await onSaved();
  };
  return (
    <FormDialog title="Origins and branding" action="Save" onSubmit={save} onClose={onClose}>
      {(faults) => (
        <>
          <Field label="Origins" help="Sites that may embed the workspace, one on each line" fault={faults.origins}>
            <textarea className="field mono" rows={3} autoFocus value={origins} onChange={(event) => setOrigins(event.target.value)} />
          </Field>
          <Field label="Accent colour" help="Such as #7c3aed; empty: Berth’s own" fault={faults.accent}>
            <input className="field mono" value={accent} onChange={(event) => setAccent(event.target.value)} />
          </Field>
          <LogoField logo={logo} fault={faults.logo} onChange={setLogo} />
          <label className="check">
            <input type="checkbox" checked={hidesAgent} onChange={(event) => setHidesAgent(event.target.checked)} />
            Hide the agent in the workspace
          </label>
          <label className="check">
            <input type="checkbox" checked={offersSsh} onChange={(event) => setOffersSsh(event.target.checked)} />
            Offer VS Code and SSH in the workspace
          </label>
        </>
      )}
    </FormDialog>
  );
}
