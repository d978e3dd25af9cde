// For crash.test.ts: a process that creates, pauses, hibernates, resumes and destroys sandboxes until it is killed. It prints the
// id of each sandbox before it creates it.
import { flushCompileCache } from "node:module";
import { newId } from "@berth/contract";
import { silentLog } from "../../../log.ts";
import { DEFAULT_TEMPLATE } from "../../../templates.ts";
import { createOciDriver } from "../oci.ts";

// Node stores compiled code at the end of a process, which this one does not reach.
flushCompileCache();

const [dataDir = "", runtimeDir = "", runtime = "", boundDisks = "", root] = process.argv.slice(2);
const driver = createOciDriver({ dataDir, runtimeDir, log: silentLog, runtime, boundDisks: boundDisks === "true" });
// Every second sandbox has a writable root, if there is one.
const TEMPLATES = [{ ...DEFAULT_TEMPLATE, diskMb: 64 }, ...(root ? [{ ...DEFAULT_TEMPLATE, diskMb: 64, root, writableRoot: true }] : [])];
const deadline = () => AbortSignal.timeout(60_000);

for (let i = Math.floor(Math.random() * 2); ; i++) {
  const id = newId("sbx", Date.now());
  console.log(id);
  const spec = { id, template: TEMPLATES[i % TEMPLATES.length]!, tokenHash: "0".repeat(64) };
  await driver.create(spec, deadline());
  await driver.pause(id, deadline());
  await driver.hibernate(id, deadline());
  await driver.resume(spec, deadline());
  await driver.destroy(id, deadline());
}
