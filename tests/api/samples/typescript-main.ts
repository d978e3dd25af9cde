// Runs the samples in TypeScript, one after the other in one process. The standard input says which. It is copied into the project in which
// they were compiled, beside the package that the server hands out. A sample may use what it does not define: the global variables below.
import { readFileSync } from "node:fs";
import { createBerth } from "@berth/client";
import { webhookRequest, type WebhookRequest } from "./webhook-request.ts";

interface Facts {
  baseUrl: string;
  apiKey: string;
  token: string;
  files: string[];
}

const { baseUrl, apiKey, token, files } = JSON.parse(readFileSync(0, "utf8")) as Facts;
process.env["BERTH_API_KEY"] = apiKey;
const berth = createBerth({ baseUrl, apiKey });
const session = await berth.sessions.create({ externalUserId: "reader" });
await session.files.write("output/chart.png", "PNG");
await session.home.write("/tmp/build.log", "done\n");

const { secret } = await berth.webhooks.create({ url: "https://you.example.com/hooks/berth" });
const secrets = [secret];
const { create } = berth.webhooks;
berth.webhooks.create = async (webhook) => {
  const created = await create(webhook);
  secrets.push(created.secret);
  return created;
};

let received: WebhookRequest;
const request = {
  async text() {
    received = await webhookRequest(berth, session.sessionId, secrets);
    return received.body;
  },
  get headers() {
    return received.headers;
  },
};

// A stream of events has no end.
class Enough extends Error {}

Object.assign(globalThis, {
  berth,
  session,
  sessionId: session.sessionId,
  secret,
  request,
  token,
  user: { id: "reader" },
  order: { id: "1" },
  repository: "/nowhere",
  csv: "1,2\n",
  task: "Say hello",
  approaches: ["politely", "loudly"],
  response: { redirect() {} },
  lastSeenId: (await firstOf(berth.events.list())).id,
  keyId: (await berth.keys.create({ name: "reader", scope: "read" })).id,
  saveSecret() {},
  forget() {},
  bill() {},
  notify() {},
  handle() {
    throw new Enough();
  },
});

const failures: Record<string, string> = {};
for (const file of files) {
  const { body, headers } = await webhookRequest(berth, session.sessionId, secrets);
  Object.assign(globalThis, { rawBody: body, headers });
  try {
    const { sample } = (await import(`./${file}`)) as { sample: () => Promise<void> };
    await sample();
  } catch (error) {
    if (!(error instanceof Enough)) failures[file] = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  await tidy();
}
console.log(`\n${JSON.stringify(failures)}`);

async function firstOf<T>(list: AsyncIterable<T>): Promise<T> {
  for await (const entry of list) return entry;
  throw new Error("The list is empty");
}

// Leaves what later samples need.
async function tidy(): Promise<void> {
  if ((await session.refresh()).status === "paused") await session.resume();
  for await (const other of berth.sessions.list({ status: "running" }))
    if (other.externalUserId !== "nightly" && other.sessionId !== session.sessionId) await other.destroy();
}
