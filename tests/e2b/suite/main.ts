// `npm run e2b:suite -- {folder} [--sdk version]`: runs E2B's own tests, from a clone of its repository, against a server of this one, and
// writes their counts into docs/e2b.md. Without `--sdk`, the tests use the SDK of the clone. Needs Linux, root, npm and `python`.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startBerth } from "../../support/servers/berth.ts";
import { writeSection } from "../guide.ts";
import { openClosedInternet, SANDBOX_DOMAIN } from "./closed-internet.ts";
import { prepareSuite } from "./prepare-suite.ts";
import { describeRuns, findIndependent, isComplete, readResults, type Results } from "./suite-report.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sdk: { type: "string", multiple: true }, inside: { type: "string" } },
});
// E2B's own service cannot be reached here.
const WITHOUT_SERVICE = { E2B_API_KEY: `e2b_${"0".repeat(40)}` };

if (values.inside === undefined) await outside(positionals[0]);
else {
  await inside(values.inside);
  // The stand-ins of the Internet go on until the process ends.
  process.exit();
}

// Installs what the tests need, then goes on without a network.
async function outside(clone: string | undefined): Promise<void> {
  if (clone === undefined) throw new Error("Name the folder of a clone of https://github.com/e2b-dev/E2B");
  const folder = mkdtempSync(join(tmpdir(), "berth-e2b-suite-"));
  try {
    const versions = prepareSuite(clone, folder, values.sdk ?? []);
    const args = ["--net", "--mount", process.execPath, import.meta.filename, "--inside", folder, ...versions];
    const { status } = spawnSync("unshare", args, { stdio: "inherit" });
    process.exitCode = status ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inside(folder: string): Promise<void> {
  let berthPort = 0;
  const { certificateFile } = await openClosedInternet(folder, () => berthPort);
  await using berth = await startBerth({ BERTH_POOL_SIZE: "2", BERTH_POOL_MAX: "4", BERTH_PREVIEW_DOMAIN: SANDBOX_DOMAIN });
  berthPort = Number(new URL(berth.url).port);
  const served = {
    E2B_API_KEY: berth.key,
    E2B_API_URL: `${berth.url}/e2b`,
    E2B_SANDBOX_URL: `${berth.url}/e2b/envd`,
    E2B_VALIDATE_API_KEY: "false",
    NODE_EXTRA_CA_CERTS: certificateFile,
  };
  const folderOf = (version: string) => join(folder, version);
  // The tests and their mocks are written for the SDK of the clone, which is the first one.
  const independent = findIndependent(await runTests(folderOf(positionals[0]!), "without", WITHOUT_SERVICE));
  const runs: { version: string; results: Results }[] = [];
  for (const version of positionals)
    runs.push({ version, results: readResults(await runTests(folderOf(version), "with", served), independent) });
  const text = describeRuns(runs);
  console.log(text);
  writeSection("suite", text);
  process.exitCode = runs.every(({ results }) => isComplete(results)) ? 0 : 1;
}

async function runTests(folder: string, name: string, env: Record<string, string>): Promise<string> {
  const file = join(folder, `${name}.json`);
  const args = ["node_modules/vitest/vitest.mjs", "run", "--reporter=json", `--outputFile=${file}`, "--maxWorkers=2"];
  const running = spawn(process.execPath, args, { cwd: folder, env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "ignore"] });
  await once(running, "close");
  return readFileSync(file, "utf8");
}
