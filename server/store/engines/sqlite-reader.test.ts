import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog } from "../../log.ts";
import { openStore, type Store } from "../open.ts";
import { findPartnerFast, changePartner } from "../partners/partners.ts";
import { insertPartner } from "../store.suite.ts";

let folder: string;
let store: Store;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-reader-"));
  store = await open();
  await insertPartner(store, "acme");
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const open = () => openStore({ file: join(folder, "berth.db"), log: silentLog });
const read = () => findPartnerFast(store, "acme");

test("a row is read once until it changes, and a change of this process is seen at once", async () => {
  const before = await read();
  expect(await read()).toBe(before);
  await changePartner(store.db, "acme", { name: "Second" });
  expect((await read())?.name).toBe("Second");
  await store.transaction(async (tx) => {
    await changePartner(tx, "acme", { name: "Third" });
    // The change is not committed yet.
    expect((await read())?.name).toBe("Second");
  });
  expect((await read())?.name).toBe("Third");
});

test("a row that did not exist is found once it does", async () => {
  expect(await findPartnerFast(store, "late")).toBeNull();
  await insertPartner(store, "late");
  expect(await findPartnerFast(store, "late")).not.toBeNull();
});

test("a change of another process is seen after a moment", async () => {
  await using other = await open();
  await read();
  await changePartner(other.db, "acme", { name: "Elsewhere" });
  await expect.poll(async () => (await read())?.name).toBe("Elsewhere");
});
