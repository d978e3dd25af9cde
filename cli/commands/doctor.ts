import { access, constants, statfs } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { readConfig, describeConfig, type Config } from "@berth/server/config/config.ts";
import type { Finding } from "../doctor/finding.ts";
import manifest from "../package.json" with { type: "json" };
import { show } from "../terminal/output.ts";
import { style } from "../terminal/style.ts";

export const command = build();

function build(): Command {
  return new Command().option("--json", "print JSON").action(doctor);
}

async function doctor(options: { json?: boolean }): Promise<void> {
  const { config, warnings } = readConfig();
  const { taken, findings: drivers } = await lookAtDrivers(config);
  const findings: Finding[] = [
    {
      topic: "version",
      state: "good",
      text: `Berth ${manifest.version} on Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    },
    ...Object.entries(describeConfig(config)).map(([name, value]): Finding => ({
      topic: "setting",
      state: "good",
      text: `${name} = ${value}`,
    })),
    ...warnings.map((warning): Finding => ({ topic: "setting", state: "note", text: warning })),
    ...(await lookAtDataFolder(config)),
    ...(await lookAtTemplates(config)),
    ...drivers,
    ...(await lookAtAgents(config, taken ?? config.driver)),
    ...(await lookAtStore(config)),
  ];
  show(options, findings, () => text(findings));
  if (findings.some((finding) => finding.state === "bad")) throw new Error("Something needs to be put right: see above.");
}

async function lookAtDataFolder({ dataDir }: Config): Promise<Finding[]> {
  const topic = "data folder";
  try {
    await access(dataDir, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return [{ topic, state: "good", text: `${dataDir} is not there yet; the first start makes it.` }];
    return [{ topic, state: "bad", text: `${dataDir} cannot be written by this user.` }];
  }
  const { bavail, bsize } = await statfs(dataDir);
  const freeGb = (bavail * bsize) / 1024 ** 3;
  return [{ topic, state: freeGb < 1 ? "note" : "good", text: `${dataDir}, ${freeGb.toFixed(1)} GB free` }];
}

async function lookAtTemplates({ templatesFile }: Config): Promise<Finding[]> {
  const { loadTemplates } = await import("@berth/server/templates.ts");
  return attempt("templates", async () => [...loadTemplates(templatesFile ?? undefined).keys()].join(", "));
}

async function lookAtDrivers(config: Config): Promise<{ taken: string | undefined; findings: Finding[] }> {
  const { probeDrivers } = await import("@berth/server/drivers/index.ts");
  const probes = await probeDrivers(config);
  const taken = probes.find((probe) => probe.usable);
  const found = probes.map(({ driver, usable, reason }): Finding => {
    const mark = driver === taken?.driver ? " (taken)" : "";
    return { topic: "driver", state: usable ? "good" : "note", text: `${driver}${mark}: ${reason}` };
  });
  if (taken) return { taken: taken.driver, findings: found };
  return { taken: undefined, findings: [...found, { topic: "driver", state: "bad", text: "None of these can be used here." }] };
}

// A machine without an agent still serves sessions, so nothing of this is bad.
async function lookAtAgents({ sandboxRuntime, templatesFile }: Config, driver: string): Promise<Finding[]> {
  const topic = "agent";
  if (driver === "kubernetes" || (driver === "docker" && sandboxRuntime === "image"))
    return [{ topic, state: "good", text: "sandboxes find their agents in their image" }];
  const [{ findAgent, probeAgents }, { RUNTIME_DIR: runtimeDir }, { loadTemplates }] = await Promise.all([
    import("@berth/server/agents/installed.ts"),
    import("@berth/server/drivers/index.ts"),
    import("@berth/server/templates.ts"),
  ]);
  const probes = await probeAgents(runtimeDir);
  const templates = await Promise.resolve()
    .then(() => [...loadTemplates(templatesFile ?? undefined).values()])
    // `lookAtTemplates` has reported it.
    .catch(() => []);
  const lacking = templates.flatMap((template): Finding[] => {
    const agent = findAgent(template, { driver, runtimeDir, sandboxRuntime });
    if (agent.state !== "missing") return [];
    return [
      { topic, state: "note", text: `the template ${template.name} has none on this machine: not installed: ${agent.names.join(", ")}` },
    ];
  });
  // One is enough; which one a session gets, its template says.
  const isEnough = probes.some(({ state }) => state === "usable");
  const stateOf = (state: string) => (state === "usable" || (state === "missing" && isEnough) ? "good" : "note");
  return [
    ...probes.map(({ agent, state, text: said }): Finding => ({ topic, state: stateOf(state), text: `${agent}: ${said}` })),
    ...(isEnough ? [] : [{ topic, state: "note" as const, text: NO_AGENT }]),
    ...lacking,
  ];
}

const NO_AGENT = "Sessions have no agent of ours here: npm run setup installs one where the registry has it, or a template names another.";

async function lookAtStore(config: Config): Promise<Finding[]> {
  const file = join(config.dataDir, "berth.db");
  const there =
    config.databaseUrl !== null ||
    (await access(file).then(
      () => true,
      () => false,
    ));
  if (!there) return [{ topic: "store", state: "good", text: `${file} is not there yet; the first start makes it.` }];
  const [{ openStore }, { schemaVersion }, { MIGRATIONS }, { silentLog }] = await Promise.all([
    import("@berth/server/store/open.ts"),
    import("@berth/server/store/migrations/migrate.ts"),
    import("@berth/server/store/migrations/index.ts"),
    import("@berth/server/log.ts"),
  ]);
  try {
    await using store = await openStore({ url: config.databaseUrl, file, log: silentLog, migrate: false });
    const version = await schemaVersion(store);
    const named = config.databaseUrl ? "PostgreSQL" : `SQLite in ${file}`;
    const stand =
      version === MIGRATIONS.length
        ? "up to date"
        : version < MIGRATIONS.length
          ? "the next start brings it up to date"
          : "made by a newer version of Berth";
    const schema: Finding = {
      topic: "store",
      state: version > MIGRATIONS.length ? "bad" : "good",
      text: `${named} answers; schema ${version} of ${MIGRATIONS.length}, ${stand}`,
    };
    if (version !== MIGRATIONS.length) return [schema];
    const { compareSandboxes } = await import("../doctor/compare-sandboxes.ts");
    return [schema, ...(await compareSandboxes(config, store))];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    return [{ topic: "store", state: "bad", text: `${String(error instanceof Error ? error.message : error)}${cause}` }];
  }
}

async function attempt(topic: string, look: () => Promise<string>): Promise<Finding[]> {
  try {
    return [{ topic, state: "good", text: await look() }];
  } catch (error) {
    return [{ topic, state: "bad", text: error instanceof Error ? error.message : String(error) }];
  }
}

const MARKS = { good: style.green("✓"), note: style.yellow("!"), bad: style.red("✗") };

function text(findings: Finding[]): string {
  const width = Math.max(...findings.map((finding) => finding.topic.length));
  return findings
    .map(({ topic, state, text: said }, at) => {
      const name = findings[at - 1]?.topic === topic ? "" : topic;
      return `${MARKS[state]} ${style.dim(name.padEnd(width))}  ${said}\n`;
    })
    .join("");
}
