import type { ConsoleList, ConsoleWebhook } from "@berth/contract/console.ts";
import { useConsole } from "../connection/context.ts";
import { useData } from "../connection/use-data.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { Failure } from "../parts/failure.tsx";
import { count } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { WebhookDetail } from "./webhook-detail.tsx";
import { lagOf, WebhookState } from "./webhook-state.tsx";

export const WebhooksPage = ({ rest: [id] }: { rest: string[] }) =>
  id === undefined ? <WebhookList /> : <WebhookDetail key={id} id={id} />;

const REFRESH_MS = 5000;

function WebhookList() {
  const { viewer } = useConsole();
  const { data, error } = useData<ConsoleList<ConsoleWebhook>>("/webhooks", {}, { everyMs: REFRESH_MS });
  const partner: Column<ConsoleWebhook> = {
    name: "Partner",
    value: ({ partnerId }) => <Link to={["partners", partnerId]}>{partnerId}</Link>,
  };
  return (
    <div className="page">
      <h1>Webhooks</h1>
      <Failure message={error} />
      {data && (
        <DataTable
          label="Webhooks"
          rows={data.data}
          keyOf={({ id }) => id}
          empty="No webhooks yet. Partners create them over the API."
          columns={[
            { name: "URL", value: ({ id, url }) => <Link to={["webhooks", id]}>{url}</Link> },
            ...(viewer.kind === "operator" ? [partner] : []),
            { name: "State", value: (webhook) => <WebhookState webhook={webhook} /> },
            { name: "Pending", isNumber: true, value: ({ pending }) => (pending >= 1000 ? "1,000 or more" : count(pending)) },
            { name: "Lag", value: ({ dueSince }) => lagOf(dueSince) },
          ]}
        />
      )}
    </div>
  );
}
