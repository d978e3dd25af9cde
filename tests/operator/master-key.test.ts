import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createBerth } from "../../client/index.ts";
import { prepareBerth } from "../support/servers/berth.ts";
import { runCliForJsonHere } from "../support/servers/cli.ts";
import { daemonRuntime } from "../support/runtime.ts";

const newMasterKey = () => randomBytes(32).toString("hex");

test("a wrong master key stops the start with an error, and after a reseal sessions work with the new key alone", async () => {
  await daemonRuntime();
  const [oldKey, newKey] = [newMasterKey(), newMasterKey()];
  await using server = await prepareBerth();
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });

  await server.start({ BERTH_MASTER_KEY: oldKey });
  const paused = await berth.sessions.create({ externalUserId: "ada", envVars: { SECRET: "kept" }, autoStartAgent: false });
  const { id: webhookId } = await berth.webhooks.create({ url: "https://you.example.com/hooks/berth", types: ["session.failed"] });
  await paused.pause();
  const running = await berth.sessions.create({ externalUserId: "ada", autoStartAgent: false });
  await running.files.write("work.txt", "mine");
  await server.stop();

  await expect(server.start({ BERTH_MASTER_KEY: newMasterKey() })).rejects.toThrow("BERTH_MASTER_KEY does not open what is stored");

  // Nothing was lost.
  await server.start({ BERTH_MASTER_KEY: `${newKey},${oldKey}` });
  expect(await running.files.readText("work.txt")).toBe("mine");
  const place = { ...server, env: { ...server.env, BERTH_MASTER_KEY: `${newKey},${oldKey}` } };
  expect(await runCliForJsonHere(place, "reseal")).toEqual({ sessions: 2, webhooks: 1 });
  await server.stop();

  await server.start({ BERTH_MASTER_KEY: newKey });
  await paused.resume({ autoStartAgent: false });
  expect((await paused.exec("echo $SECRET")).stdout).toBe("kept\n");
  expect((await berth.webhooks.rotateSecret(webhookId)).secret).toMatch(/^whsec_/);
  for (const session of [paused, running]) await session.destroy();
}, 180_000);
