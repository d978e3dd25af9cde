import { Command } from "commander";
import { readConfig } from "@berth/server/config.ts";
import { loadTemplates } from "@berth/server/templates.ts";
import { orDash, show, table } from "../output.ts";

export const command = build();

function build(): Command {
  const group = new Command();
  group.addCommand(new Command("list").description("templates that sessions may name").option("--json", "print JSON").action(list));
  return group;
}

async function list(options: { json?: boolean }): Promise<void> {
  const templates = [...loadTemplates(readConfig().config.templatesFile ?? undefined).values()];
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
        { name: "agent", value: (template) => orDash(template.agent?.command.split("/").at(-1) ?? null) },
        { name: "description", value: (template) => template.description ?? "" },
      ],
      "No templates.",
    ),
  );
}
