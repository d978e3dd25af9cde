import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createBerth } from "../../client/index.ts";
import { prepareBerth } from "../support/servers/berth.ts";
import { runCliForJson } from "../support/servers/cli.ts";
import { daemonRuntime } from "../support/runtime.ts";

const newMasterKey = () => randomBytes(32).toString("hex");

test("after a reseal under a new master key, sessions work with the new key alone", async () => {
  await daemonRuntime();
  const [oldKey, newKey] = [newMasterKey(), newMasterKey()];
  await using server = await prepareBerth();
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });

  await server.start({ BERTH_MASTER_KEY: oldKey });
  const session = await berth.sessions.create({ externalUserId: "ada", envVars: { SECRET: "kept" }, autoStartAgent: false });
  const { id: webhookId } = await berth.webhooks.create({ url: "https://you.example.com/hooks/berth", types: ["session.failed"] });
  await session.pause();
  await server.stop();

  await server.start({ BERTH_MASTER_KEY: `${newKey},${oldKey}` });
  const place = { ...server, env: { ...server.env, BERTH_MASTER_KEY: `${newKey},${oldKey}` } };
  expect(await runCliForJson(place, "reseal")).toEqual({ sessions: 1, webhooks: 1 });
  await server.stop();

  await server.start({ BERTH_MASTER_KEY: newKey });
  await session.resume({ autoStartAgent: false });
  expect((await session.exec("echo $SECRET")).stdout).toBe("kept\n");
  expect((await berth.webhooks.rotateSecret(webhookId)).secret).toMatch(/^whsec_/);
  await session.destroy();
}, 180_000);

test("a wrong master key stops the start with an error, and nothing is lost", async () => {
  await daemonRuntime();
  await using server = await prepareBerth();
  const berth = createBerth({ baseUrl: server.url, apiKey: server.key });
  const rightKey = newMasterKey();
  await server.start({ BERTH_MASTER_KEY: rightKey });
  const session = await berth.sessions.create({ externalUserId: "ada", autoStartAgent: false });
  await session.files.write("work.txt", "mine");
  await server.stop();

  await expect(server.start({ BERTH_MASTER_KEY: newMasterKey() })).rejects.toThrow("BERTH_MASTER_KEY does not open what is stored");

  await server.start({ BERTH_MASTER_KEY: rightKey });
  expect(await session.files.readText("work.txt")).toBe("mine");
  await session.destroy();
}, 180_000);
