// `node run-journeys.ts {file}`: runs all journeys with the SDK whose module this is, and writes one line of JSON for each. The settings
// are E2B's environment variables.
import { pathToFileURL } from "node:url";
import { JOURNEYS, SHARED_SANDBOX, type Sdk } from "./journeys.ts";
import { resolveLocalhost } from "./resolve-localhost.ts";

resolveLocalhost();
const sdk = (await import(pathToFileURL(process.argv[2] ?? "").href)) as Sdk;
const box = await sdk.Sandbox.create(SHARED_SANDBOX);
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
