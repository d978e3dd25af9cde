import { join } from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "@berth/server/log.ts";
import { addModelUsage } from "@berth/server/store/partners/model-usage.ts";
import { openStore } from "@berth/server/store/open.ts";
import { insertSessionRow, sessionRow } from "@berth/server/store/testing/session-row.ts";
import { createInstallationWithStore } from "../testing/installation.ts";

test("a session is listed, and shown with its model tokens", async () => {
  const { berth, json, dataDir } = await createInstallationWithStore();
  await json("partner", "create", "acme");
  const store = await openStore({ file: join(dataDir, "berth.db"), log: silentLog });
  const session = await insertSessionRow(store.db, sessionRow(Date.now(), { external_user_id: "ada" }));
  const newer = await insertSessionRow(store.db, sessionRow(Date.now() + 1000, { external_user_id: "bob" }));
  const user = { sessionId: session.id, partnerId: "acme", externalUserId: "ada", template: "default" };
  await addModelUsage(store.db, user, { input: 1200, output: 34 }, Date.now());
  await store[Symbol.asyncDispose]();
  expect((await berth("session", "list")).stdout).toMatch(new RegExp(`^${session.id} +acme +ada +running +default +`, "m"));
  const more = "There are more than these 1 sessions. Raise --limit, or use --partner or --status.\n";
  expect(await berth("session", "list", "--limit", "1")).toMatchObject({ stdout: expect.stringContaining(newer.id), stderr: more });
  expect(await berth("session", "list", "--limit", "2", "--json")).toMatchObject({ stdout: expect.stringMatching(/^\[/), stderr: "" });
  expect(await json("session", "show", session.sandbox_id)).toMatchObject({
    sessionId: session.id,
    status: "running",
    modelTokens: { input: 1200, output: 34 },
  });
  expect((await berth("session", "show", session.id)).stdout).toMatch(/^model tokens +1200 in, 34 out$/m);
});

test("values from partners cannot control the operator's terminal, as text or as JSON", async () => {
  const { berth, json, dataDir } = await createInstallationWithStore();
  await json("partner", "create", "acme", "--name", "Acme\u009b2J");
  const hostile = "\u001b[2J\u009b2J\u202eada";
  const store = await openStore({ file: join(dataDir, "berth.db"), log: silentLog });
  const metadata = JSON.stringify({ note: hostile });
  const session = await insertSessionRow(store.db, sessionRow(Date.now(), { external_user_id: hostile, metadata, template: hostile }));
  await store[Symbol.asyncDispose]();
  for (const args of [
    ["session", "list"],
    ["session", "show", session.id],
    ["partner", "list"],
    ["session", "show", hostile],
  ])
    for (const options of [[], ["--json"]]) {
      const { stdout, stderr } = await berth(...args, ...options);
      expect(stdout + stderr).not.toMatch(/(?!\n)[\p{Cc}\u202e]/u);
    }
  expect(await json("session", "show", session.id)).toMatchObject({ externalUserId: hostile, metadata: { note: hostile } });
});
