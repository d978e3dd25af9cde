import { access, constants } from "node:fs/promises";
import { findAgent, probeAgents } from "../agents/installed.ts";
import { describeConfig, type Config } from "../config/config.ts";
import type { DriverName } from "../drivers/driver.ts";
import { probeDrivers, RUNTIME_DIR } from "../drivers/index.ts";
import { compareTemplates } from "../drivers/template-support.ts";
import { diskLevelOf, readDiskSpace, type DiskLevel } from "../disk-space.ts";
import { describeLowLimit, readOpenFileLimit } from "../open-files.ts";
import { loadTemplates } from "../templates.ts";
import type { Finding } from "./finding.ts";
import { checkImages } from "./image-checks.ts";
import { checkLocalhostNames } from "./localhost-names.ts";

// Checks the settings and the machine without changing anything.
export async function checkMachine(config: Config, warnings: readonly string[]): Promise<Finding[]> {
  const { used, findings: drivers } = await checkDrivers(config);
  const settings = Object.entries(describeConfig(config)).map(([name, value]): Finding => ({
    topic: "setting",
    state: "good",
    text: `${name} = ${value}`,
  }));
  return [
    ...settings,
    ...warnings.map((warning): Finding => ({ topic: "setting", state: "note", text: warning })),
    ...checkOpenFiles(),
    ...(await checkLocalhostNames(config)),
    ...(await checkDataFolder(config)),
    ...checkTemplates(config, used),
    ...drivers,
    ...checkImages(config, used ?? config.driver, readTemplates(config.templatesFile)),
    ...(await checkAgents(config, used ?? config.driver)),
    checkModel(config),
  ];
}

function checkOpenFiles(): Finding[] {
  const text = describeLowLimit(readOpenFileLimit());
  return text === undefined ? [] : [{ topic: "open files", state: "note", text }];
}

async function checkDataFolder({ dataDir, diskReserveMib }: Config): Promise<Finding[]> {
  const topic = "data folder";
  try {
    await access(dataDir, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return [{ topic, state: "good", text: `${dataDir} does not exist yet. The first start creates it.` }];
    const cure = "Give the folder to the user that runs the server, or set BERTH_DATA_DIR to another one.";
    return [{ topic, state: "bad", text: `${dataDir} is not writable for this user.`, cure }];
  }
  const space = readDiskSpace(dataDir, diskReserveMib);
  const text = `${dataDir}, ${(space.freeBytes / 1024 ** 3).toFixed(1)} GB free`;
  const level = diskLevelOf(space);
  if (level === "enough") return [{ topic, state: "good", text }];
  const missing = space.lacksInodes ? "inodes (many small files use them up)" : "space";
  const cure = `Free ${missing} on this disk. Berth continues by itself, without a restart.`;
  return [{ topic, state: level === "full" ? "bad" : "note", text: `${text}. ${DISK_MEANINGS[level]}`, cure }];
}

const DISK_MEANINGS: Record<Exclude<DiskLevel, "enough">, string> = {
  low: "The disk is almost full, so no session, fork or snapshot is created.",
  full: "The disk is full, so running sessions are paused and nothing is created or resumed.",
};

function checkTemplates({ templatesFile }: Config, driver: DriverName | undefined): Finding[] {
  const topic = "templates";
  try {
    const templates = loadTemplates(templatesFile ?? undefined);
    const { refused, different } = driver ? compareTemplates(driver, templates) : { refused: [], different: [] };
    return [
      { topic, state: "good", text: [...templates.keys()].join(", ") },
      ...refused.map(({ message }): Finding => ({ topic, state: "bad", text: message })),
      ...different.map(({ message }): Finding => ({ topic, state: "note", text: message })),
    ];
  } catch (error) {
    const cure = "Correct the file that BERTH_TEMPLATES names. The next start refuses it.";
    return [{ topic, state: "bad", text: error instanceof Error ? error.message : String(error), cure }];
  }
}

async function checkDrivers(config: Config): Promise<{ used: DriverName | undefined; findings: Finding[] }> {
  const probes = await probeDrivers(config);
  const used = probes.find((probe) => probe.usable);
  const found = probes.map(({ driver, usable, reason }): Finding => {
    const mark = driver === used?.driver ? " (in use)" : "";
    return { topic: "driver", state: usable ? "good" : "note", text: `${driver}${mark}: ${reason}` };
  });
  if (used) return { used: used.driver, findings: found };
  const cure = "Install what one of the drivers above needs, or choose another one with BERTH_DRIVER.";
  return { used: undefined, findings: [...found, { topic: "driver", state: "bad", text: "None of these works on this machine.", cure }] };
}

// A machine without an agent still serves sessions, so nothing here is bad.
async function checkAgents({ sandboxRuntime, templatesFile }: Config, driver: string): Promise<Finding[]> {
  const topic = "agent";
  if (driver === "kubernetes" || (driver === "docker" && sandboxRuntime === "image"))
    return [{ topic, state: "good", text: "sandboxes use the agents in their image" }];
  const probes = await probeAgents(RUNTIME_DIR);
  const withoutAgent = readTemplates(templatesFile).flatMap((template): Finding[] => {
    const agent = findAgent(template, { driver, runtimeDir: RUNTIME_DIR, sandboxRuntime });
    if (agent.state !== "missing") return [];
    const text = `the template ${template.name} has no agent on this machine; not installed: ${agent.names.join(", ")}`;
    return [{ topic, state: "note", text, cure: "Install one of these programs, or name another agent in the template." }];
  });
  // One agent is enough. The template chooses which one a session gets.
  const hasUsable = probes.some(({ state }) => state === "usable");
  const stateOf = (state: string) => (state === "usable" || (state === "missing" && hasUsable) ? "good" : "note");
  return [
    ...probes.map(({ agent, state, text: message }): Finding => ({ topic, state: stateOf(state), text: `${agent}: ${message}` })),
    ...(hasUsable ? [] : [NO_AGENT]),
    ...withoutAgent,
  ];
}

const NO_AGENT: Finding = {
  topic: "agent",
  state: "note",
  text: "No agent of Berth is installed.",
  cure: "`npm run setup` installs one if the registry has it, or a template can name another.",
};

// Sessions without a model work, and a partner can bring its own key.
function checkModel({ modelProvider, modelApiKey, modelName }: Config): Finding {
  const topic = "model";
  if (modelProvider && modelApiKey)
    return { topic, state: "good", text: `${modelProvider}, ${modelName ?? "the agent chooses the model"}` };
  return {
    topic,
    state: "note",
    text: "No model is configured, so users read that the assistant is not available.",
    cure: "Set BERTH_MODEL_PROVIDER, BERTH_MODEL_API_KEY and BERTH_MODEL_NAME, or create sessions with a key in envVars (docs/agents.md).",
  };
}

// `checkTemplates` reports a file that cannot be read.
function readTemplates(file: string | null) {
  try {
    return [...loadTemplates(file ?? undefined).values()];
  } catch {
    return [];
  }
}
