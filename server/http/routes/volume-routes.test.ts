import { afterEach, beforeEach, expect, test } from "vitest";
import type { Volume } from "@berth/contract";
import { listAudit } from "../../store/partners/audit.ts";
import { startTestApp, type TestApp } from "../testing/test-app.ts";

let app: TestApp;
beforeEach(async () => {
  app = await startTestApp();
});
afterEach(() => app[Symbol.asyncDispose]());

const post = (body: object, headers: Record<string, string> = {}) => app.call("POST", "/api/b2b/volumes", { body, headers });

test("a volume is created once for each idempotency key, listed, audited and deleted", async () => {
  const made = (await post({ name: "cache", sizeMb: 64 }, { "idempotency-key": "one" })).json as Volume;
  expect((await post({ name: "cache", sizeMb: 64 }, { "idempotency-key": "one" })).json).toEqual(made);
  expect(made).toMatchObject({ name: "cache", sizeMb: 64, usedBy: [] });
  expect((await app.call("GET", "/api/b2b/volumes")).json).toEqual({ data: [made] });
  expect((await app.call("GET", `/api/b2b/volumes/${made.volumeId}`)).json).toEqual(made);
  expect((await app.call("DELETE", `/api/b2b/volumes/${made.volumeId}`)).json).toEqual(made);
  expect((await app.call("GET", `/api/b2b/volumes/${made.volumeId}`)).status).toBe(404);
  const actions = (await listAudit(app.store.db, { limit: 10 })).map(({ action }) => action);
  expect(actions).toEqual(expect.arrayContaining(["volume.create", "volume.delete"]));
});

test("the number and the sizes of volumes are limited, and a name is unique", async () => {
  expect((await post({ name: "a", sizeMb: 2000 })).json).toEqual({
    error: "Your volumes may have 1024 MiB in total, and already have 0 MiB",
  });
  for (const name of ["a", "b", "c"]) expect((await post({ name, sizeMb: 16 })).status).toBe(201);
  expect(await post({ name: "a", sizeMb: 16 })).toMatchObject({ status: 409 });
  expect((await post({ name: "d", sizeMb: 16 })).json).toEqual({ error: "The limit of 3 volumes is reached" });
});

test("an invalid body names its fields", async () => {
  expect((await post({ name: "Not a name", sizeMb: 1 })).json).toMatchObject({ details: [{ field: "name" }, { field: "sizeMb" }] });
});
