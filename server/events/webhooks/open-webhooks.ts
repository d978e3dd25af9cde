import { randomUUID } from "node:crypto";
import { nameClockWork, runWork } from "../../event-loop/loop-work.ts";
import { createEndpoints, type Endpoints, type EndpointsDeps } from "./endpoints.ts";
import { createWebhooks, type Webhooks, type WebhooksDeps } from "./webhooks.ts";

const WORK = { name: "webhooks" };

export interface OpenWebhooks extends AsyncDisposable {
  endpoints: Endpoints;
  wake: Webhooks["wake"];
}

type OpenWebhooksDeps = Omit<WebhooksDeps, "owner"> & Omit<EndpointsDeps, "onQueued">;

// The webhooks of partners: their endpoints, and the sending of events to them.
export function openWebhooks(deps: OpenWebhooksDeps): OpenWebhooks {
  const webhooks = createWebhooks({ ...deps, clock: nameClockWork(deps.clock, WORK), owner: randomUUID() });
  const wake = (partnerId: string) => runWork(WORK, () => webhooks.wake(partnerId));
  return { endpoints: createEndpoints({ ...deps, onQueued: wake }), wake, [Symbol.asyncDispose]: () => webhooks[Symbol.asyncDispose]() };
}
