import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { Command } from "commander";
import { readConfig, type Config } from "@berth/server/config/config.ts";
import { lockDataFolder, otherServersRun } from "@berth/server/data-folder/data-folder-lock.ts";
import { endLeftBuilds } from "@berth/server/builds/open-builds.ts";
import { endLeftCanaries } from "@berth/server/doctor/canary.ts";
import { removeSharedFiles } from "@berth/server/drivers/oci/filesystem/shared-files.ts";
import { deleteDataFolder, hasInstallation, type DeletedFolder } from "../../down/data-folder.ts";
import { endInstallation } from "../../down/end.ts";
import { openInstallation } from "../../down/installation.ts";
import { describePlan, describeReport, isIdle, type Report } from "../../down/report.ts";
import { findServer, stopServer, stopTimeout } from "../../down/running-server.ts";
import { confirm } from "../../terminal/confirm.ts";
import { show } from "../../terminal/output.ts";

interface Options {
  json?: boolean;
  yes?: boolean;
  delete?: boolean;
  force?: boolean;
}

export const command = build();

function build(): Command {
  const down = new Command()
    .option("--delete", "also delete the files of sessions, the database and the keys")
    .option("--force", "kill the server if it does not stop within five seconds")
    .option("--yes", "do not ask for confirmation")
    .option("--json", "print JSON");
  return down.action((options: Options) => stopInstallation(options, down));
}

async function stopInstallation(options: Options, down: Command): Promise<void> {
  const { config } = readConfig();
  const { dataDir } = config;
  const report: Report = {
    dataDir,
    server: null,
    drivers: [],
    ended: { paused: 0, destroyed: 0, discarded: 0, orphans: 0, failures: [] },
    hibernated: 0,
    files: null,
  };
  const finish = () => show(options, report, () => describeReport(report, config));
  // With PostgreSQL and Kubernetes the folder may be empty.
  if (!hasInstallation(dataDir) && !config.databaseUrl) return finish();

  await using stack = new AsyncDisposableStack();
  // Drivers and the lock need the folder. If this command creates it, it removes it again.
  if (mkdirSync(dataDir, { recursive: true, mode: 0o700 }) !== undefined) stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const server = await findServer(dataDir);
  const installation = stack.use(await openInstallation(config, { tolerant: options.delete ?? false }));
  report.drivers = installation.engines.map(({ driver }) => driver.name);
  report.hibernated = installation.engines.reduce((sum, { counts }) => sum + counts.hibernated, 0);

  const isDone = server === null && isIdle(installation) && !options.delete;
  if (!isDone && !options.yes) await confirm(describePlan({ config, server, installation, deleting: options.delete ?? false }), down);
  const force = options.force ?? false;
  if (server !== null) await stopServer(server, { timeoutMs: stopTimeout(config.driver, { force }), force });
  report.server = server;
  stack.use(await lockDataFolder(dataDir));

  await endLeftCanaries(config);
  await endLeftBuilds(config);
  report.ended = await endInstallation(config, installation, options.delete ? "destroyed" : "paused");
  // Waits for files that drivers delete in the background.
  await installation[Symbol.asyncDispose]();
  if (options.delete && report.ended.failures.length === 0) report.files = await deleteFiles(config, report.drivers);
  finish();
  if (report.ended.failures.length > 0)
    throw new Error("Some sandboxes could not be stopped (see above). Run the command again, or check with: berth doctor");
}

async function deleteFiles({ dataDir }: Config, drivers: string[]): Promise<DeletedFolder> {
  // Only a server that runs as root has files outside its data folder.
  if (process.getuid?.() === 0 && drivers.includes("oci") && !(await otherServersRun(dataDir))) removeSharedFiles();
  return await deleteDataFolder(dataDir);
}
