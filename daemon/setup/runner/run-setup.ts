import { rmSync } from "node:fs";
import { join } from "node:path";
import type { SetupReport } from "@berth/contract/daemon-internal.ts";
import { openSetupFiles, type SetupFiles, type SetupPlan } from "../setup-files.ts";
import { fetchRepository } from "./fetch-repository.ts";
import type { BuildPlan } from "../../builds/build-plan.ts";
import { awaitBuild, showLog } from "./await-build.ts";
import { chooseImage } from "./choose-image.ts";
import { readDevcontainer } from "./devcontainer.ts";
import { findCommands, runCommands } from "./setup-command.ts";
import { packBuild } from "./pack-build.ts";
import { print } from "../../io/print.ts";

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
  let hasImage = true;
  if (devcontainer?.build) hasImage = await build(devcontainer.build, { plan, root, files, report });
  else if (devcontainer?.image) {
    const { image } = devcontainer;
    const { restart, sentence } = chooseImage(image, plan.image);
    print(sentence);
    if (restart) return report("image", { image });
    hasImage = image === plan.image.used;
  }
  report("command");
  devcontainer?.remarks.forEach(print);
  const env = devcontainer?.env ?? {};
  files.writeEnv(env);
  files.writePorts(devcontainer?.ports ?? []);
  files.writeSettings(devcontainer?.settings ?? {});
  files.writeStart({ folder: root, commands: devcontainer?.postStart ?? [] });
  const exitCode = await runCommands(findCommands(plan, root, devcontainer), root, env);
  report("done", { exitCode });
  if (exitCode === null) return;
  const done = hasImage ? "Setup is done." : "Setup is done. The image of devcontainer.json is not used, and the lines above say why.";
  print(exitCode === 0 ? done : `The setup command ended with exit code ${exitCode}. Everything else works as usual.`);
  process.exitCode = exitCode;
}

// Lets the server build the image that the repository describes. Returns whether the sandbox runs in it. If a build succeeds, the sandbox
// is stopped before this returns.
async function build(
  wanted: BuildPlan,
  { plan, root, files, report }: { plan: SetupPlan; root: string; files: SetupFiles; report: (status: "build") => void },
): Promise<boolean> {
  const keep = (reason: string) => {
    print(`devcontainer.json: no image is built, because ${reason}`);
    return false;
  };
  const { used, failed, reason } = plan.image;
  // It is no longer needed, and it would stay on the disk of the session and in its snapshots.
  if (used !== null || failed !== null) rmSync(files.buildArchive, { force: true });
  if (used !== null) {
    showLog(files.buildLog);
    print("This sandbox runs in the image that was built as devcontainer.json says.");
    return true;
  }
  if (failed !== null) return keep(reason ?? "the build failed before. The log of the server says more.");
  if (plan.noBuilds !== null) return keep(plan.noBuilds);
  files.removeBuild();
  try {
    await packBuild(wanted, root, files.buildArchive);
  } catch (error) {
    return keep(`${error instanceof Error ? error.message : String(error)}.`);
  }
  print(
    "Building the image that devcontainer.json describes, in a sandbox of its own. You can work here in the meantime. When it is ready, this sandbox starts again in it: files are kept, and programs end.",
  );
  report("build");
  print(await awaitBuild(files));
  rmSync(files.buildArchive, { force: true });
  return false;
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
