// `npm run e2b:matrix`: installs the pinned versions of E2B's SDK into temporary folders, runs the journeys with each of them on a server
// of its own, and writes the matrix of docs/e2b.md.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { writeSection } from "./guide.ts";
import { JOURNEYS } from "./journeys.ts";

// The newest of the newest four minor versions.
const VERSIONS = ["2.51.0", "2.50.0", "2.49.1", "2.46.1"];
// A framework whose agents work in sandboxes of E2B.
const MASTRA = ["@mastra/e2b@0.8.0", "@mastra/core@1.71.0"];

interface Result {
  feature: string;
  // null: it works.
  fault: string | null;
}

await using berth = await startBerth({ BERTH_POOL_SIZE: "2" });
const columns = new Map<string, Result[]>();
for (const version of VERSIONS) {
  const results = await run(berth, [`e2b@${version}`], "run-journeys.ts", (folder) => join(folder, "node_modules/e2b/dist/index.mjs"));
  columns.set(version, results);
  for (const { feature, fault } of results)
    console.log(`${version}  ${fault === null ? "works" : "FAILS"}  ${feature}${fault === null ? "" : `: ${fault}`}`);
}
const mastra = await run(berth, MASTRA, "run-mastra.ts", (folder) => folder);
console.log(`${MASTRA.join(" ")}  ${mastra.length > 0 ? "works" : "FAILS"}`);
const rows = JOURNEYS.map(({ feature }) => [feature, ...VERSIONS.map((version) => cellOf(columns.get(version) ?? [], feature))]);
const table = [["journey", ...VERSIONS], VERSIONS.map(() => "---").concat("---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
writeSection(
  "matrix",
  `${table.join("\n")}\n\nA framework on top, \`${MASTRA.join("` with `")}\`: ${mastra.length > 0 ? "works" : "fails"}.`,
);
process.exitCode = mastra.length === 0 || rows.some((cells) => cells.includes("fails")) ? 1 : 0;

async function run({ url, key }: Berth, packages: string[], script: string, module: (folder: string) => string): Promise<Result[]> {
  const folder = mkdtempSync(join(tmpdir(), "berth-e2b-"));
  try {
    execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", ...packages], { stdio: "ignore" });
    const env = {
      ...process.env,
      E2B_API_KEY: key,
      E2B_API_URL: `${url}/e2b`,
      E2B_SANDBOX_URL: `${url}/e2b/envd`,
      E2B_VALIDATE_API_KEY: "false",
    };
    const args = [join(import.meta.dirname, script), module(folder)];
    const running = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    running.stdout.on("data", (chunk) => (output += String(chunk)));
    await once(running, "close");
    return output
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Result);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function cellOf(results: Result[], feature: string): string {
  return results.find((result) => result.feature === feature)?.fault === null ? "works" : "fails";
}
