import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { readConfig, type Config } from "@berth/server/config/config.ts";
import type { Finding } from "@berth/server/doctor/finding.ts";
import type { Store } from "@berth/server/store/open.ts";
import manifest from "../../package.json" with { type: "json" };
import { show } from "../../terminal/output.ts";
import { style } from "../../terminal/style.ts";

export const command = build();

function build(): Command {
  return new Command().option("--json", "print JSON").action(doctor);
}

async function doctor(options: { json?: boolean }): Promise<void> {
  const { config, warnings } = readConfig();
  const { checkMachine } = await import("@berth/server/doctor/machine-checks.ts");
  const findings: Finding[] = [
    {
      topic: "version",
      state: "good",
      text: `Berth ${manifest.version} on Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    },
    ...(await checkMachine(config, warnings)),
    ...(await checkCanary(config)),
    ...(await checkStore(config)),
  ];
  show(options, findings, () => toText(findings));
  if (findings.some((finding) => finding.state === "bad")) throw new Error("Some checks failed (see above).");
}

async function checkCanary(config: Config): Promise<Finding[]> {
  const [{ runCanary }, { probeDrivers }] = await Promise.all([
    import("@berth/server/doctor/canary.ts"),
    import("@berth/server/drivers/index.ts"),
  ]);
  const used = (await probeDrivers(config)).find(({ usable }) => usable);
  const finding = used && (await runCanary(config, used.driver));
  return finding ? [finding] : [];
}

async function checkStore(config: Config): Promise<Finding[]> {
  const file = join(config.dataDir, "berth.db");
  const exists =
    config.databaseUrl !== null ||
    (await access(file).then(
      () => true,
      () => false,
    ));
  if (!exists) return [{ topic: "store", state: "good", text: `${file} does not exist yet. The first start creates it.` }];
  const [{ openStore }, { checkSchema }, { checkInstallation }, { silentLog }] = await Promise.all([
    import("@berth/server/store/open.ts"),
    import("@berth/server/doctor/schema-check.ts"),
    import("@berth/server/doctor/quarantine-check.ts"),
    import("@berth/server/log.ts"),
  ]);
  try {
    await using store = await openStore({ url: config.databaseUrl, file, log: silentLog, migrate: false });
    const { isCurrent, ...schema } = await checkSchema(store, config.databaseUrl ? "PostgreSQL" : `SQLite in ${file}`);
    return isCurrent ? [schema, ...(await checkInstallation(config.dataDir, store)), ...(await checkSandboxes(config, store))] : [schema];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    const text = `${String(error instanceof Error ? error.message : error)}${cause}`;
    return [{ topic: "store", state: "bad", text, cure: "Start the database, or correct BERTH_DATABASE_URL or BERTH_DATA_DIR." }];
  }
}

async function checkSandboxes(config: Config, store: Store): Promise<Finding[]> {
  const [{ openDriver }, { hostNameFile }, { compareSandboxes }, { checkQuarantine }, { silentLog }] = await Promise.all([
    import("@berth/server/drivers/index.ts"),
    import("@berth/server/data-folder/claim-host.ts"),
    import("@berth/server/doctor/compare-sandboxes.ts"),
    import("@berth/server/doctor/quarantine-check.ts"),
    import("@berth/server/log.ts"),
  ]);
  try {
    await using driver = await openDriver(config, silentLog);
    const host = driver.traits.hostBound ? (await readFile(hostNameFile(config.dataDir), "utf8")).trim() : null;
    const site = { driver: driver.name, host };
    return [...(await compareSandboxes({ store, driver, site })), ...(await checkQuarantine({ store, driver, site }))];
  } catch (error) {
    const text = `could not be compared: ${error instanceof Error ? error.message : String(error)}`;
    return [{ topic: "sandboxes", state: "note", text }];
  }
}

const MARKS = { good: style.green("✓"), note: style.yellow("!"), bad: style.red("✗") };

function toText(findings: Finding[]): string {
  const width = Math.max(...findings.map((finding) => finding.topic.length));
  return findings
    .map(({ topic, state, text: message, cure }, at) => {
      const name = findings[at - 1]?.topic === topic ? "" : topic;
      return `${MARKS[state]} ${style.dim(name.padEnd(width))}  ${cure === undefined ? message : `${message} ${cure}`}\n`;
    })
    .join("");
}
