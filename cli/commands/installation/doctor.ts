import { access, constants, statfs } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { readConfig, describeConfig, type Config } from "@berth/server/config/config.ts";
import type { Finding } from "../../doctor/finding.ts";
import manifest from "../../package.json" with { type: "json" };
import { show } from "../../terminal/output.ts";
import { style } from "../../terminal/style.ts";

export const command = build();

function build(): Command {
  return new Command().option("--json", "print JSON").action(doctor);
}

async function doctor(options: { json?: boolean }): Promise<void> {
  const { config, warnings } = readConfig();
  const { used, findings: drivers } = await checkDrivers(config);
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
    ...(await checkDataFolder(config)),
    ...(await checkTemplates(config)),
    ...drivers,
    ...(await checkAgents(config, used ?? config.driver)),
    ...checkModel(config),
    ...(await checkStore(config)),
  ];
  show(options, findings, () => toText(findings));
  if (findings.some((finding) => finding.state === "bad")) throw new Error("Some checks failed (see above).");
}

async function checkDataFolder({ dataDir }: Config): Promise<Finding[]> {
  const topic = "data folder";
  try {
    await access(dataDir, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return [{ topic, state: "good", text: `${dataDir} does not exist yet. The first start creates it.` }];
    return [{ topic, state: "bad", text: `${dataDir} is not writable for this user.` }];
  }
  const { bavail, bsize } = await statfs(dataDir);
  const freeGb = (bavail * bsize) / 1024 ** 3;
  return [{ topic, state: freeGb < 1 ? "note" : "good", text: `${dataDir}, ${freeGb.toFixed(1)} GB free` }];
}

async function checkTemplates({ templatesFile }: Config): Promise<Finding[]> {
  const { loadTemplates } = await import("@berth/server/templates.ts");
  return attempt("templates", async () => [...loadTemplates(templatesFile ?? undefined).keys()].join(", "));
}

async function checkDrivers(config: Config): Promise<{ used: string | undefined; findings: Finding[] }> {
  const { probeDrivers } = await import("@berth/server/drivers/index.ts");
  const probes = await probeDrivers(config);
  const used = probes.find((probe) => probe.usable);
  const found = probes.map(({ driver, usable, reason }): Finding => {
    const mark = driver === used?.driver ? " (in use)" : "";
    return { topic: "driver", state: usable ? "good" : "note", text: `${driver}${mark}: ${reason}` };
  });
  if (used) return { used: used.driver, findings: found };
  return { used: undefined, findings: [...found, { topic: "driver", state: "bad", text: "None of these works on this machine." }] };
}

// A machine without an agent still serves sessions, so nothing here is bad.
async function checkAgents({ sandboxRuntime, templatesFile }: Config, driver: string): Promise<Finding[]> {
  const topic = "agent";
  if (driver === "kubernetes" || (driver === "docker" && sandboxRuntime === "image"))
    return [{ topic, state: "good", text: "sandboxes use the agents in their image" }];
  const [{ findAgent, probeAgents }, { RUNTIME_DIR: runtimeDir }, { loadTemplates }] = await Promise.all([
    import("@berth/server/agents/installed.ts"),
    import("@berth/server/drivers/index.ts"),
    import("@berth/server/templates.ts"),
  ]);
  const probes = await probeAgents(runtimeDir);
  const templates = await Promise.resolve()
    .then(() => [...loadTemplates(templatesFile ?? undefined).values()])
    // `checkTemplates` reports it.
    .catch(() => []);
  const withoutAgent = templates.flatMap((template): Finding[] => {
    const agent = findAgent(template, { driver, runtimeDir, sandboxRuntime });
    if (agent.state !== "missing") return [];
    return [
      {
        topic,
        state: "note",
        text: `the template ${template.name} has no agent on this machine; not installed: ${agent.names.join(", ")}`,
      },
    ];
  });
  // One agent is enough. The template chooses which one a session gets.
  const hasUsable = probes.some(({ state }) => state === "usable");
  const stateOf = (state: string) => (state === "usable" || (state === "missing" && hasUsable) ? "good" : "note");
  return [
    ...probes.map(({ agent, state, text: message }): Finding => ({ topic, state: stateOf(state), text: `${agent}: ${message}` })),
    ...(hasUsable ? [] : [{ topic, state: "note" as const, text: NO_AGENT }]),
    ...withoutAgent,
  ];
}

// Sessions without a model work, and a partner can bring its own key.
function checkModel({ modelProvider, modelApiKey, modelName }: Config): Finding[] {
  const topic = "model";
  if (modelProvider && modelApiKey)
    return [{ topic, state: "good", text: `${modelProvider}, ${modelName ?? "the agent chooses the model"}` }];
  return [{ topic, state: "note", text: NO_MODEL }];
}

const NO_MODEL =
  "No model is configured, so users read that the assistant is not available. Set BERTH_MODEL_PROVIDER, BERTH_MODEL_API_KEY and BERTH_MODEL_NAME, or create sessions with a key in envVars (docs/agents.md).";

const NO_AGENT = "No agent of Berth is installed. `npm run setup` installs one if the registry has it, or a template can name another.";

async function checkStore(config: Config): Promise<Finding[]> {
  const file = join(config.dataDir, "berth.db");
  const exists =
    config.databaseUrl !== null ||
    (await access(file).then(
      () => true,
      () => false,
    ));
  if (!exists) return [{ topic: "store", state: "good", text: `${file} does not exist yet. The first start creates it.` }];
  const [{ openStore }, { schemaVersion }, { MIGRATIONS }, { silentLog }] = await Promise.all([
    import("@berth/server/store/open.ts"),
    import("@berth/server/store/migrations/migrate.ts"),
    import("@berth/server/store/migrations/index.ts"),
    import("@berth/server/log.ts"),
  ]);
  try {
    await using store = await openStore({ url: config.databaseUrl, file, log: silentLog, migrate: false });
    const version = await schemaVersion(store);
    const storeName = config.databaseUrl ? "PostgreSQL" : `SQLite in ${file}`;
    const schemaState =
      version === MIGRATIONS.length
        ? "up to date"
        : version < MIGRATIONS.length
          ? "the next start migrates it"
          : "created by a newer version of Berth";
    const schema: Finding = {
      topic: "store",
      state: version > MIGRATIONS.length ? "bad" : "good",
      text: `${storeName} answers; schema ${version} of ${MIGRATIONS.length}, ${schemaState}`,
    };
    if (version !== MIGRATIONS.length) return [schema];
    const { compareSandboxes } = await import("../../doctor/compare-sandboxes.ts");
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

function toText(findings: Finding[]): string {
  const width = Math.max(...findings.map((finding) => finding.topic.length));
  return findings
    .map(({ topic, state, text: message }, at) => {
      const name = findings[at - 1]?.topic === topic ? "" : topic;
      return `${MARKS[state]} ${style.dim(name.padEnd(width))}  ${message}\n`;
    })
    .join("");
}
