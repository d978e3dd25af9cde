import type { Delivery } from "@berth/contract";
import type { ConsoleWebhook } from "@berth/contract/console.ts";
import { useState } from "react";
import { useConsole } from "../connection/context.ts";
import { replaceQuery, useLocation } from "../connection/location.ts";
import { useData } from "../connection/use-data.ts";
import { usePages } from "../connection/use-pages.ts";
import { DataTable } from "../parts/data-table.tsx";
import { Facts } from "../parts/facts.tsx";
import { Failure } from "../parts/failure.tsx";
import { count, dateTime } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { MoreButton } from "../parts/more-button.tsx";
import { Mark } from "../parts/status.tsx";
import { lagOf, WebhookState } from "./webhook-state.tsx";

const STATES = ["pending", "delivered", "failed"];
const TINTS = { pending: "warn", delivered: "good", failed: "bad" } as const;

export function WebhookDetail({ id }: { id: string }) {
  const { api } = useConsole();
  const path = `/webhooks/${encodeURIComponent(id)}`;
  const { data: webhook, error } = useData<ConsoleWebhook>(path, {}, { everyMs: 5000 });
  const state = useLocation().query.get("state") ?? "";
  const { rows, error: listError, more, reload } = usePages<Delivery>(`${path}/deliveries`, { state, limit: "50" });
  const [failure, setFailure] = useState<string | null>(null);
  const redeliver = (delivery: Delivery) => {
    setFailure(null);
    api.post(`${path}/deliveries/${delivery.id}/redeliver`).then(reload, (failed: Error) => setFailure(failed.message));
  };
  return (
    <div className="page">
      <nav aria-label="Breadcrumb">
        <Link to={["webhooks"]}>Webhooks</Link>
      </nav>
      <div className="head">
        <h1 className="wrap">{webhook?.url ?? id}</h1>
        {webhook && <WebhookState webhook={webhook} />}
      </div>
      <Failure message={failure ?? error ?? listError} />
      {webhook && (
        <Facts
          facts={[
            ["Id", <span className="mono">{webhook.id}</span>],
            ["Partner", webhook.partnerId],
            ["Events", webhook.types?.join(", ") ?? "all"],
            ["Pending", count(webhook.pending)],
            ["Lag", lagOf(webhook.dueSince)],
            ["Description", webhook.description || "–"],
          ]}
        />
      )}
      <div className="head">
        <h2>Deliveries</h2>
        <span className="grow" />
        <select className="field small" aria-label="State" value={state} onChange={(event) => replaceQuery({ state: event.target.value })}>
          <option value="">all</option>
          {STATES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <button type="button" className="button" onClick={reload}>
          Refresh
        </button>
      </div>
      {rows && (
        <DataTable
          label="Deliveries"
          rows={rows}
          keyOf={(delivery) => delivery.id}
          empty="No deliveries."
          columns={[
            { name: "Time", value: ({ createdAt }) => dateTime(createdAt) },
            { name: "Event", value: ({ type }) => type },
            { name: "State", value: (delivery) => <Mark tint={TINTS[delivery.state as keyof typeof TINTS]}>{delivery.state}</Mark> },
            { name: "Attempts", isNumber: true, value: ({ attempts }) => count(attempts) },
            { name: "Last answer", value: ({ lastStatus, lastError }) => lastStatus ?? lastError ?? "–" },
            {
              name: "Actions",
              value: (delivery) => (
                <button type="button" className="button small" aria-label={`Redeliver ${delivery.id}`} onClick={() => redeliver(delivery)}>
                  Redeliver
                </button>
              ),
            },
          ]}
        />
      )}
      <MoreButton more={more} />
    </div>
  );
}
