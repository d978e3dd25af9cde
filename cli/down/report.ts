import type { Config } from "@berth/server/config/config.ts";
import type { EndedSandboxes } from "@berth/server/sessions/background/end-sandboxes.ts";
import { style } from "../terminal/style.ts";
import type { DeletedFolder } from "./data-folder.ts";
import type { Counts, Installation } from "./installation.ts";

// The result of `berth down`, as printed with --json.
export interface Report {
  dataDir: string;
  // The id of the stopped process.
  server: number | null;
  drivers: string[];
  ended: EndedSandboxes;
  // Sessions that were hibernated before.
  hibernated: number;
  // null: no file was deleted.
  files: DeletedFolder | null;
}

interface Plan {
  config: Config;
  server: number | null;
  installation: Installation;
  deleting: boolean;
}

// Whether no sandbox runs or is frozen.
export const isIdle = ({ engines }: Installation) =>
  engines.every(({ counts: { running, frozen, blank, unknown } }) => running + frozen + blank + unknown === 0);

// Describes the effects, for the confirmation.
export function describePlan({ config, server, installation: { engines, store }, deleting }: Plan): string {
  const sum = (name: keyof Counts) => engines.reduce((total, { counts }) => total + counts[name], 0);
  const [sessions, blank, unknown] = [sum("running") + sum("frozen") + sum("hibernated"), sum("blank"), sum("unknown")];
  const shared = config.databaseUrl !== null;
  return [
    `The installation in ${style.bold(config.dataDir)} (${engines.map(({ driver }) => driver.name).join(", ")}):`,
    ...(server === null ? [] : [`- the server (process ${server}) stops`]),
    deleting
      ? `- ${withFiles(sessions)} are deleted permanently`
      : `- ${count(sum("running") + sum("frozen"), "sandbox", "sandboxes")} of sessions stop: programs end, files stay, and the sessions are paused`,
    ...(blank > 0 ? [`- ${count(blank, "sandbox", "sandboxes")} of the pool are removed`] : []),
    ...(unknown > 0
      ? [`- ${count(unknown, "sandbox", "sandboxes")} that the store does not know ${store || deleting ? "are removed" : "are stopped"}`]
      : []),
    ...(deleting ? [shared ? "- its keys are deleted; the PostgreSQL database stays" : "- the database and the keys are deleted"] : []),
    ...(engines.some(({ site }) => site.host === null)
      ? ["Stop other servers of this installation first. Otherwise they start sandboxes again."]
      : shared
        ? ["Sandboxes on other machines of this installation keep running."]
        : []),
  ].join("\n");
}

export function describeReport(report: Report, config: Config): string {
  const { dataDir, server, drivers, ended, files, hibernated } = report;
  const { paused, destroyed, discarded, orphans, failures } = ended;
  const done = [
    ...(server === null ? [] : [`stopped the server (process ${server})`]),
    ...(paused > 0 ? [`paused ${count(paused, "session")}`] : []),
    ...(destroyed > 0 ? [`destroyed ${withFiles(destroyed)}`] : []),
    ...(discarded > 0 ? [`removed ${count(discarded, "sandbox", "sandboxes")} of the pool`] : []),
    ...(orphans > 0 ? [`stopped ${count(orphans, "sandbox", "sandboxes")} that the store did not know`] : []),
    ...(files && files.deleted.length > 0 ? [`deleted ${files.deleted.join(", ")} in ${dataDir}`] : []),
  ];
  const lines = done.length > 0 ? done.map((line) => `${line[0]!.toUpperCase()}${line.slice(1)}.`) : ["There was nothing to stop."];
  if (drivers.length === 0) lines.push(`No installation of Berth was found in ${dataDir}. Set BERTH_DATA_DIR to its data folder.`);
  else if (!files && paused + hibernated > 0)
    lines.push(`${count(paused + hibernated, "session")} can be resumed after the next start. \`berth down --delete\` deletes them.`);
  if (files && files.kept.length > 0) lines.push(`Kept, because Berth did not create it: ${files.kept.join(", ")} in ${dataDir}.`);
  if (files?.folder === "link") lines.push(`${dataDir} is a link. The link and the folder that it leads to stay; remove them yourself.`);
  if (files?.folder === "mount point") lines.push(`${dataDir} is a mount point, so the folder itself stays.`);
  if (files && config.databaseUrl) lines.push("The PostgreSQL database still exists. Drop it if nothing else uses it.");
  return `${[...lines, ...failures.map((failure) => `${style.red("Not stopped:")} ${failure}`)].join("\n")}\n`;
}

const count = (number: number, one: string, many = `${one}s`) => `${number} ${number === 1 ? one : many}`;

const withFiles = (sessions: number) => `${count(sessions, "session")} and ${sessions === 1 ? "its" : "their"} files`;
