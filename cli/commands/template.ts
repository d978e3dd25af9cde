import { Command } from "commander";
import { findAgent, type TemplateAgent } from "@berth/server/agents/installed.ts";
import { RUNTIME_DIR } from "@berth/server/drivers/index.ts";
import { loadTemplates } from "@berth/server/templates.ts";
import { readSettings } from "../installation/settings.ts";
import { orDash, show, table } from "../terminal/output.ts";
import { addBuild } from "../templates/build-template.ts";
import { addPull } from "../templates/pull-images.ts";
import { usedDriver } from "../templates/used-driver.ts";

export const command = build();

function build(): Command {
  const group = new Command();
  group.command("list").description("list the templates that sessions can use").option("--json", "print JSON").action(list);
  addPull(group);
  addBuild(group);
  return group;
}

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
