import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { print } from "../io/print.ts";
import { PLAN_FILE, REPOSITORY_FOLDER, type BuildPlan } from "./build-plan.ts";
import { createBuildah, writeSettings, type Buildah } from "./buildah.ts";
import { featureDockerfile } from "./feature-dockerfile.ts";
import { orderFeatures } from "./feature-order.ts";
import { fetchFeatures } from "./fetch-features.ts";
import { createRunTool, type RunTool } from "./run-tool.ts";

const FIRST = "localhost/first";
const LAST = "localhost/last";

// Builds an image, as the program of a sandbox. Its arguments are the archive with the plan and the files of the repository, a folder for
// temporary files, and the file for the image, a docker-archive.
async function main(archive: string, folder: string, image: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ["", "tmp", "features", "context"]) mkdirSync(join(folder, name), { recursive: true });
  const run = createRunTool({ ...process.env, ...writeSettings(folder) });
  await run("tar", ["-xf", archive, "-C", folder, "--no-same-owner"], { shown: ["tar", "-x"] });
  rmSync(archive);
  const plan = JSON.parse(readFileSync(join(folder, PLAN_FILE), "utf8")) as BuildPlan;
  const buildah = createBuildah(run, folder);
  const tools = { folder, run, buildah };
  const last = await addFeatures(plan, await prepareBase(plan, tools), tools);
  print("Packing the image");
  await buildah.push(last, `docker-archive:${image}`);
}

interface Tools {
  folder: string;
  run: RunTool;
  buildah: Buildah;
}

async function prepareBase({ base }: BuildPlan, { folder, buildah }: Tools): Promise<string> {
  if ("image" in base) return base.image;
  const repository = join(folder, REPOSITORY_FOLDER);
  await buildah.build(FIRST, join(repository, base.dockerfile), join(repository, base.context), base);
  return FIRST;
}

async function addFeatures(plan: BuildPlan, base: string, { folder, run, buildah }: Tools): Promise<string> {
  const image = await buildah.usersOf(base);
  const containerUser = plan.containerUser ?? image.containerUser;
  const remoteUser = plan.remoteUser ?? image.remoteUser;
  if (plan.features.length === 0 && containerUser === null && remoteUser === null && base === FIRST) return FIRST;
  const repository = join(folder, REPOSITORY_FOLDER);
  const features = orderFeatures(await fetchFeatures(plan, { repository, folder: join(folder, "features"), run }), plan.installOrder);
  const context = join(folder, "context");
  for (const [at, { id, folder: source, unused }] of features.entries()) {
    print(`Feature ${at + 1} of ${features.length}: ${id}`);
    if (unused.length > 0) print(`${id}: these properties do not apply here: ${unused.slice(0, 20).join(", ")}.`);
    cpSync(source, join(context, String(at)), { recursive: true, verbatimSymlinks: true });
  }
  const dockerfile = join(folder, "Dockerfile.features");
  writeFileSync(dockerfile, featureDockerfile({ base, imageUser: image.user, containerUser, remoteUser, features }));
  await buildah.build(LAST, dockerfile, context);
  return LAST;
}

const [archive = "", folder = "", image = ""] = process.argv.slice(2);
main(archive, folder, image).catch((error: unknown) => {
  print(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
