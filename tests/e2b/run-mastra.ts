// `node run-mastra.ts {folder}`: Mastra's sandbox over E2B, from the packages in this folder, as an agent of Mastra uses it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Sdk } from "./journeys.ts";

const module = join(process.argv[2] ?? "", "node_modules/@mastra/e2b/dist/index.js");
const { E2BSandbox } = (await import(pathToFileURL(module).href)) as Sdk;
const options = { id: "berth-journey", template: "base", timeout: 120_000, env: { FRUIT: "fig" } };
const sandbox = new E2BSandbox(options);
await sandbox.start();
try {
  const { stdout, exitCode } = await sandbox.executeCommand("sh", ["-c", "echo $FRUIT; pwd"]);
  assert.deepEqual({ stdout, exitCode }, { stdout: "fig\n/home/user\n", exitCode: 0 });
  await sandbox.e2b.files.write("/tmp/note.txt", "kept");
  // Another process of the same agent finds the sandbox by its metadata.
  const again = new E2BSandbox(options);
  await again.start();
  assert.equal(await again.e2b.files.read("/tmp/note.txt"), "kept");
} finally {
  await sandbox.destroy();
}
console.log(JSON.stringify({ feature: "mastra", fault: null }));
