import { AppError } from "@berth/contract/errors.ts";
import { readJson, requiredText as text } from "../../http/body.ts";
import { badRequest, notFound } from "../../http/errors.ts";
import type { Pauses } from "../../http/pauses.ts";
import { sendJson } from "../../http/reply.ts";
import type { Call, Route } from "../../http/route.ts";
import type { Environment } from "../../programs/environment.ts";
import type { ImageStore } from "../prompts/image-store.ts";
import { parseRun } from "./parse-run.ts";
import { parseRunPrompt } from "./run-prompt.ts";
import { RUN_ID, type RunRecord } from "./run-record.ts";
import type { RunStore } from "./run-store.ts";
import type { Runs } from "./runs.ts";

export interface RunRoutesDeps {
  store: RunStore;
  environment: Environment;
  pauses: Pick<Pauses, "isUnderWay">;
  load: () => Promise<{ runs: Runs; images: ImageStore }>;
}

// The calls of the server about runs (contract/daemon/runs.ts).
export function runRoutes({ store, environment, pauses, load }: RunRoutesDeps): Route[] {
  // Two requests with the same id at once begin one run.
  const starting = new Map<string, Promise<void>>();

  const found = ({ params: { id = "" } }: Call): RunRecord => {
    const record = store.find(id);
    if (!record) throw notFound("There is no such run");
    return record;
  };
  const route = (method: string, path: string, handle: Route["handle"]): Route => ({ method, path, handle });

  return [
    route("POST", "/internal/runs", async ({ request, response }) => {
      const { id, run: wanted } = await readJson(request);
      if (typeof id !== "string" || !RUN_ID.test(id)) throw badRequest("id must be the id of a run");
      if (typeof wanted !== "object" || wanted === null) throw badRequest("run must be an object");
      await starting.get(id)?.catch(() => {});
      const isKnown = store.find(id) !== undefined;
      if (!isKnown) {
        const started = start(id, wanted as Record<string, unknown>);
        starting.set(id, started);
        await started.finally(() => starting.delete(id));
      }
      const record = store.find(id);
      if (!record) throw notFound("There is no such run");
      sendJson(response, isKnown ? 200 : 201, (await load()).runs.describe(record));
    }),
    route("GET", "/internal/runs/:id", async (call) => sendJson(call.response, 200, (await load()).runs.describe(found(call)))),
    route("GET", "/internal/runs/:id/events", async (call) => {
      const record = found(call);
      await (await load()).runs.sendEvents(record, call);
    }),
    route("POST", "/internal/runs/:id/messages", async (call) => {
      const record = found(call);
      const { id, prompt, attachments } = await readJson(call.request);
      const { runs, images } = await load();
      const messageId = text(id, "id");
      // Its images are stored once.
      if (!record.messageIds.includes(messageId)) runs.addMessage(record, messageId, await parseRunPrompt(prompt, attachments, images));
      call.response.writeHead(204).end();
    }),
    route("POST", "/internal/runs/:id/interrupt", async (call) => {
      const record = found(call);
      (await load()).runs.interrupt(record);
      call.response.writeHead(204).end();
    }),
    route("POST", "/internal/runs/:id/answer", async (call) => {
      const record = found(call);
      const { itemId, ...answer } = await readJson(call.request);
      (await load()).runs.answer(record, text(itemId, "itemId"), answer);
      call.response.writeHead(204).end();
    }),
  ];

  async function start(id: string, { prompt, attachments, ...wanted }: Record<string, unknown>): Promise<void> {
    const { runs, images } = await load();
    const record = parseRun(id, wanted, await parseRunPrompt(prompt, attachments, images), environment);
    if (pauses.isUnderWay) throw new AppError("session_paused");
    runs.start(record);
  }
}
