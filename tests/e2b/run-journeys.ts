// `node run-journeys.ts {file}`: runs all journeys with the SDK whose module this is, and writes one line of JSON for each. The settings
// are E2B's environment variables.
import { pathToFileURL } from "node:url";
import { JOURNEYS, type Sdk } from "./journeys.ts";

const sdk = (await import(pathToFileURL(process.argv[2] ?? "").href)) as Sdk;
const box = await sdk.Sandbox.create({ metadata: { journey: "matrix" }, envs: { FRUIT: "fig" }, timeoutMs: 600_000 });
try {
  for (const { feature, run } of JOURNEYS) {
    const fault = await run(sdk, box).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    console.log(JSON.stringify({ feature, fault }));
  }
} finally {
  await box.kill();
}
