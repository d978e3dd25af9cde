import { createHmac } from "node:crypto";
import type { Berth } from "../../../client/index.ts";

export interface WebhookRequest {
  body: string;
  headers: Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>;
}

// A request that the reader's webhook gets, signed with each of the secrets: the end of the nightly run, if there is one, or else a warning.
export async function webhookRequest(berth: Berth, sessionId: string, secrets: string[]): Promise<WebhookRequest> {
  const event = (await nightlyEnd(berth)) ?? { type: "session.timeout_warning", data: { sessionId } };
  const body = JSON.stringify({ id: "evt_1", timestamp: new Date().toISOString(), ...event });
  const sentAt = String(Math.floor(Date.now() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    return `v1,${createHmac("sha256", key).update(`evt_1.${sentAt}.${body}`).digest("base64")}`;
  });
  return { body, headers: { "webhook-id": "evt_1", "webhook-timestamp": sentAt, "webhook-signature": signatures.join(" ") } };
}

async function nightlyEnd(berth: Berth): Promise<object | undefined> {
  for await (const { sessionId, runs } of berth.sessions.list({ status: "running", externalUserId: "nightly" }))
    for await (const { runId } of runs.list()) {
      await runs.get(runId).wait();
      return { type: "run.finished", data: { sessionId, runId } };
    }
  return undefined;
}
