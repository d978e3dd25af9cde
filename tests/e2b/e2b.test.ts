import type { EventList } from "@berth/contract";
import * as sdk from "e2b";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { shareBerth, type SharedBerth } from "../support/servers/shared-berth.ts";
import { JOURNEYS, SHARED_SANDBOX, type Sandbox } from "./journeys.ts";
import { resolveLocalhost } from "./resolve-localhost.ts";
import { createWire, type Wire } from "./wire-client.ts";

// The short form of `npm run e2b:matrix`: the journeys with the newest SDK, and what the SDK does not show.

let berth: SharedBerth;
let wire: Wire;
let box: Sandbox;
let localhost: Disposable;
beforeAll(async () => {
  localhost = resolveLocalhost();
  berth = await shareBerth();
  wire = createWire(berth.url, berth.key);
  vi.stubEnv("E2B_API_KEY", berth.key);
  vi.stubEnv("E2B_API_URL", `${berth.url}/e2b`);
  vi.stubEnv("E2B_SANDBOX_URL", `${berth.url}/e2b/envd`);
  box = await sdk.Sandbox.create(SHARED_SANDBOX);
});
afterAll(async () => {
  await box.kill();
  vi.unstubAllEnvs();
  localhost[Symbol.dispose]();
});

describe("a program with E2B's SDK", () => {
  test.each(JOURNEYS)("$feature", ({ run }) => run(sdk, box));
});

test("a sandbox is a session of the partner, and its description has no token", async () => {
  const { sandboxId, envdAccessToken } = box;
  const info = (await wire.api("GET", `/sandboxes/${sandboxId}`)).json;
  expect(info).toMatchObject({ state: "running", lifecycle: { onTimeout: "kill" }, domain: new URL(berth.url).host });
  expect(JSON.stringify(info)).not.toContain(envdAccessToken);
  const own = (await berth.api.call("GET", "/api/b2b/sessions?externalUserId=e2b&expand=details")).body as { data: object[] };
  expect(own.data).toContainEqual(expect.objectContaining({ sandboxId, onTimeout: "destroy" }));
  // A session of the partner API stays as private as it was.
  const { sandboxId: other, sessionId } = await berth.api.create({ autoStartAgent: false });
  expect((await fetch(`http://8123-${other}.${new URL(berth.url).host}/`)).status).toBe(401);
  await berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
});

test("the end of a command is an event of the session", async () => {
  const { pid } = await box.commands.run("exit 6", { background: true });
  const ends = async () =>
    ((await berth.api.call("GET", "/api/b2b/events?limit=100")).body as EventList).data.filter(
      ({ type, data }) => type === "process.exited" && (data as { exitCode?: number }).exitCode === 6,
    );
  expect(pid).toBeGreaterThan(0);
  await expect.poll(ends, { timeout: 10_000 }).toMatchObject([{ data: { sandboxId: box.sandboxId, processStatus: "exited" } }]);
});

test("the end of a command is an event too if the sandbox is killed right after it", async () => {
  const short = await wire.create();
  expect((await short.run("exit 7")).exitCode).toBe(7);
  expect((await wire.api("DELETE", `/sandboxes/${short.id}`)).status).toBe(204);
  const { data } = (await berth.api.call("GET", "/api/b2b/events?limit=100")).body as EventList;
  const own = data.filter(({ data }) => (data as { sandboxId?: string }).sandboxId === short.id).map(({ type }) => type);
  expect(own).toEqual(["session.created", "process.exited", "session.destroyed"]);
});

test("the list knows filters that the SDK does not send", async () => {
  const list = async (query: string) =>
    ((await wire.api("GET", `/v2/sandboxes?${query}`)).json as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
  expect(await list("template=base&limit=1")).toEqual([box.sandboxId]);
  expect(await list("template=unknown")).toEqual([]);
  expect(await list(`order=asc&startedAfter=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
});

test("what Berth does not have is refused in E2B's shape", async () => {
  const refused = async (body: object) => (await wire.api("POST", "/v2/sandboxes", body)).json;
  expect(await refused({ templateID: "absent" })).toEqual({ code: 404, message: "template 'absent' not found" });
  expect(await refused({ templateID: "base", iam: { tokens: {} } })).toMatchObject({ code: 501 });
  expect(await refused({ templateID: "base", metadata: { long: "x".repeat(600) } })).toMatchObject({ code: 400 });
  expect((await wire.api("GET", "/v3/templates")).json).toMatchObject({
    code: 501,
    message: expect.stringContaining("not supported by Berth") as string,
  });
});
