import { join } from "node:path";
import type { SetupReport } from "@berth/contract/daemon-internal.ts";
import { openSetupFiles, type SetupFiles, type SetupPlan } from "../setup-files.ts";
import { fetchRepository } from "./fetch-repository.ts";
import { chooseImage } from "./choose-image.ts";
import { readDevcontainer } from "./devcontainer.ts";
import { findCommands, runCommands } from "./setup-command.ts";
import { print } from "./print.ts";

// The program of the Setup terminal. Its arguments are the folder with the files of the setup, and `start` if the sandbox was set up
// before and only starts again.
async function main(folder: string, mode: string): Promise<void> {
  const files = openSetupFiles(folder);
  if (mode === "start") return startAgain(files);
  const plan = files.readPlan();
  if (!plan) throw new Error("There is no setup to run");
  const report = (status: SetupReport["status"], rest: Partial<SetupReport> = {}) =>
    files.writeReport(plan.attempt, { status, reason: null, exitCode: null, ...rest });
  const root = await fetchSource(plan, report);
  if (root === null) return void (process.exitCode = 1);
  const devcontainer = readDevcontainer(root, print);
  if (devcontainer?.image) {
    const { image } = devcontainer;
    const { restart, sentence } = chooseImage(image, plan.image);
    print(sentence);
    if (restart) return report("image", { image });
  }
  report("command");
  devcontainer?.remarks.forEach(print);
  const env = devcontainer?.containerEnv ?? {};
  files.writeEnv(env);
  files.writePorts(devcontainer?.ports ?? []);
  files.writeStart({ folder: root, commands: devcontainer?.postStart ?? [] });
  const exitCode = await runCommands(findCommands(plan, root, devcontainer), root, env);
  report("done", { exitCode });
  if (exitCode === null) return;
  print(exitCode === 0 ? "Setup is done." : `The setup command ended with exit code ${exitCode}. Everything else works as usual.`);
  process.exitCode = exitCode;
}

async function startAgain(files: SetupFiles): Promise<void> {
  const start = files.readStart();
  if (!start) return;
  const exitCode = await runCommands(start.commands, start.folder, files.readEnv());
  if (exitCode) print(`The postStartCommand ended with exit code ${exitCode}. Everything else works as usual.`);
  process.exitCode = exitCode ?? 0;
}

// Returns the folder of the repository or, without one, the workspace. null: it failed.
async function fetchSource(plan: SetupPlan, report: (status: SetupReport["status"], rest?: Partial<SetupReport>) => void) {
  if (plan.left === "command" || !plan.git) return join(plan.workspace, plan.git?.path ?? "");
  report("source");
  print(`Fetching ${plan.git.url}`);
  const fetched = await fetchRepository(plan.git, plan.workspace);
  if ("folder" in fetched) return fetched.folder;
  print(fetched.reason);
  report("failed", { reason: fetched.reason });
  return null;
}

main(process.argv[2] ?? "", process.argv[3] ?? "").catch((error: unknown) => {
  print(`The setup stopped: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
