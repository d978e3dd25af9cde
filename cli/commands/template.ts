import { Command } from "commander";
import { findAgent, type TemplateAgent } from "@berth/server/agents/installed.ts";
import { probeDrivers, RUNTIME_DIR } from "@berth/server/drivers/index.ts";
import { loadTemplates } from "@berth/server/templates.ts";
import type { Config } from "@berth/server/config/config.ts";
import type { ImageState } from "@berth/server/drivers/driver.ts";
import { openImages } from "@berth/server/drivers/oci/images/open-images.ts";
import { silentLog } from "@berth/server/log.ts";
import { readSettings } from "../installation/settings.ts";
import { escapeControls } from "../terminal/escape-controls.ts";
import { orDash, show, table } from "../terminal/output.ts";
import { addBuild } from "../templates/build-template.ts";

export const command = build();

function build(): Command {
  const group = new Command();
  group.command("list").description("list the templates that sessions can use").option("--json", "print JSON").action(list);
  group
    .command("pull [template]")
    .description("fetch the images of templates, or their newer versions")
    .option("--json", "print JSON")
    .action(pull);
  addBuild(group);
  return group;
}

// Fetches the images by themselves, so that it works whether or not a server runs. A server notices what was fetched.
async function pull(name: string | undefined, options: { json?: boolean }): Promise<void> {
  const config = await readSettings();
  const templates = [...loadTemplates(config.templatesFile ?? undefined).values()];
  if (name !== undefined && !templates.some((template) => template.name === name)) throw new Error(`There is no template ${name}.`);
  const driver = await usedDriver(config);
  if (driver !== "oci") throw new Error(`Only the driver oci keeps images; with ${driver}, the engine fetches them itself.`);
  const wanted = templates.filter((template) => name === undefined || template.name === name);
  const images = [...new Set(wanted.flatMap(({ image }) => image ?? []))];
  await using store = openImages(config, silentLog);
  const pulled: { image: string; digest: string | null; error: string | null }[] = [];
  for (const image of images) {
    const progress = setInterval(() => showProgress(image, store.state(image)), PROGRESS_MS);
    const result = await store.pull(image, new AbortController().signal).then(
      ({ digest }) => ({ image, digest, error: null }),
      (error: Error) => ({ image, digest: null, error: error.message }),
    );
    clearInterval(progress);
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
    pulled.push(result);
  }
  show(options, pulled, () =>
    table(
      pulled,
      [
        { name: "image", value: ({ image }) => image },
        { name: "digest", value: ({ digest, error }) => digest ?? error ?? "" },
      ],
      "No template names an image.",
    ),
  );
  if (pulled.some(({ error }) => error !== null)) process.exitCode = 1;
}

const PROGRESS_MS = 500;

function showProgress(image: string, state: ImageState): void {
  const percent = "percent" in state ? state.percent : undefined;
  if (process.stderr.isTTY && percent !== undefined) process.stderr.write(`\r\u001b[K${escapeControls(image)} ${percent}%`);
}

const usedDriver = async (config: Config): Promise<string> =>
  (config.driver === "auto" ? (await probeDrivers(config)).find(({ usable }) => usable)?.driver : undefined) ?? config.driver;

async function list(options: { json?: boolean }): Promise<void> {
  const config = await readSettings();
  const loaded = [...loadTemplates(config.templatesFile ?? undefined).values()];
  const location = { driver: await usedDriver(config), runtimeDir: RUNTIME_DIR, sandboxRuntime: config.sandboxRuntime };
  const templates = loaded.map((template) => ({ ...template, agentHere: findAgent(template, location) }));
  show(options, templates, () =>
    table(
      templates,
      [
        { name: "template", value: (template) => template.name },
        { name: "memory", value: (template) => `${template.memoryMb} MB`, right: true },
        { name: "cpus", value: (template) => String(template.cpus), right: true },
        { name: "processes", value: (template) => String(template.pids), right: true },
        { name: "disk", value: (template) => `${template.diskMb} MB`, right: true },
        { name: "egress", value: (template) => template.egress.policy },
        { name: "agent", value: (template) => orDash(describeAgent(template.agentHere)) },
        { name: "description", value: (template) => template.description ?? "" },
      ],
      "No templates.",
    ),
  );
}

function describeAgent(agent: TemplateAgent): string | null {
  if (agent.state === "none") return null;
  return agent.state === "missing" ? `${agent.names.join(", ")}: not installed here` : agent.name;
}
