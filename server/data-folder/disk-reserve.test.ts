import { join } from "node:path";
import { expect } from "vitest";
import { machine, testWith } from "../../tests/support/machine.ts";
import { mountSmallDisk } from "../../tests/support/small-disk.ts";
import { silentLog } from "../log.ts";
import { openStore } from "../store/open.ts";
import { insertPartner } from "../store/store.suite.ts";
import { reserveForStore } from "./disk-reserve.ts";

testWith(machine.root, "a store without a reserve says on a full disk that it is full, and works when there is space again", async () => {
  await using disk = mountSmallDisk(48);
  await using store = await openStore({ file: join(disk.folder, "berth.db"), log: silentLog });
  disk.fill();
  const insertMany = async () => {
    for (let i = 0; i < 300; i++) await store.transaction((tx) => insertPartner({ db: tx }, `partner-${i}`));
  };
  await expect(insertMany()).rejects.toMatchObject({ code: "server_disk_full" });
  disk.free();
  await store.transaction((tx) => insertPartner({ db: tx }, "afterwards"));
});

testWith(machine.root, "a store with a reserve commits on a full disk", async () => {
  await using disk = mountSmallDisk(64);
  await using store = await openStore({ file: join(disk.folder, "berth.db"), log: silentLog });
  await reserveForStore(join(disk.folder, "berth.db"));
  disk.fill();
  for (let i = 0; i < 300; i++) await store.transaction((tx) => insertPartner({ db: tx }, `partner-${i}`));
  expect(await store.db.selectFrom("partners").select("id").execute()).toHaveLength(300);
});
