import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daemonRuntime } from "../../../tests/support/runtime.ts";
import { missingUserDriver, openUserDriver, USER, type UserDriver, type UserForm } from "../../../tests/support/user-driver/user-driver.ts";
import { driverSuite } from "../testing/driver.suite.ts";
import { findRemainingResources } from "./testing/remaining-resources.ts";

// The driver of a server that runs as an ordinary user, with ids of its own for each sandbox and with one for all.
for (const form of ["sub-ids", "one-id"] satisfies UserForm[]) {
  driverSuite(`oci without root, ${form}`, () => openSuite(form), {
    missing: missingUserDriver(form),
    isVariant: form === "one-id",
    volumesDiffer: true,
  });
}

async function openSuite(form: UserForm) {
  const runtimeDir = await daemonRuntime();
  const folder = mkdtempSync(join(tmpdir(), "berth-without-root-"));
  chownSync(folder, USER, USER);
  const dataDir = join(folder, "data");
  const opened: UserDriver[] = [await openUserDriver({ form, dataDir, runtimeDir })];
  return {
    driver: opened[0]!.driver,
    async reopen() {
      opened.push(await opened[0]!.reopen());
      return opened.at(-1)!.driver;
    },
    remainingResources: async (id: string) => findRemainingResources(dataDir, id),
    async dispose() {
      for (const one of opened) await one[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
