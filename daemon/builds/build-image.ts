import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { print } from "../io/print.ts";
import { PLAN_FILE, REPOSITORY_FOLDER, type BuildPlan, type DockerfileBuild } from "./build-plan.ts";
import { featureDockerfile } from "./feature-dockerfile.ts";
import { orderFeatures } from "./feature-order.ts";
import { fetchFeatures } from "./fetch-features.ts";
import { imageUsers, type ImageUsers } from "./image-users.ts";
import { createRunTool, type RunTool } from "./run-tool.ts";

// Programs of a build have these of the sandbox's capabilities. buildah itself has more, to mount and to change its root.
const CAPABILITIES = "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETFCAP SETGID SETUID SYS_CHROOT".split(" ");
const MAX_SHOWN_CHARS = 200;
const FIRST = "localhost/first";
const LAST = "localhost/last";

// The program of a sandbox that builds an image. Its arguments are the archive with the plan and the files of the repository, a folder for
// everything that it needs in between, and the file for the image, a docker-archive.
async function main(archive: string, folder: string, image: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  for (const name of ["", "tmp", "features", "context"]) mkdirSync(join(folder, name), { recursive: true });
  const run = createRunTool({ ...process.env, ...writeSettings(folder) });
  await run("tar", ["-xf", archive, "-C", folder, "--no-same-owner"], { shown: ["tar", "-x"] });
  rmSync(archive);
  const plan = JSON.parse(readFileSync(join(folder, PLAN_FILE), "utf8")) as BuildPlan;
  const buildah = createBuildah(run, folder);
  const first = "image" in plan.base ? plan.base.image : await buildDockerfile(buildah, plan.base, join(folder, REPOSITORY_FOLDER));
  const last = await addFeatures(plan, first, { folder, run, buildah });
  print("Packing the image");
  await buildah.push(last, `docker-archive:${image}`);
}

interface Buildah {
  build(tag: string, dockerfile: string, context: string, options?: Pick<DockerfileBuild, "args" | "target">): Promise<void>;
  usersOf(image: string): Promise<ImageUsers>;
  push(image: string, target: string): Promise<void>;
}

// Nothing of the machine's settings is in this sandbox. Layers are mounted over each other (overlay), so that an image of many layers is not
// copied once for each of them.
function writeSettings(folder: string): Record<string, string> {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return {
    CONTAINERS_CONF: file("containers.conf", ""),
    CONTAINERS_STORAGE_CONF: file(
      "storage.conf",
      `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/storage"\nrunroot = "${folder}/run"\n`,
    ),
    CONTAINERS_REGISTRIES_CONF: file("registries.conf", 'unqualified-search-registries = ["docker.io"]\n'),
    TMPDIR: join(folder, "tmp"),
    HOME: folder,
    XDG_RUNTIME_DIR: join(folder, "tmp"),
  };
}

function createBuildah(run: RunTool, folder: string): Buildah {
  const policy = join(folder, "policy.json");
  writeFileSync(policy, '{"default": [{"type": "insecureAcceptAnything"}]}');
  const trust = ["--signature-policy", policy];
  return {
    async build(tag, dockerfile, context, { args, target } = { args: {}, target: null }) {
      const named = [
        ...Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`),
        ...(target === null ? [] : [`--target=${target}`]),
      ];
      const isolation = ["--isolation", "chroot", "--security-opt", "seccomp=unconfined", "--cap-drop=all"];
      const capabilities = CAPABILITIES.map((name) => `--cap-add=CAP_${name}`);
      const shortly = named.map((word) => (word.length > MAX_SHOWN_CHARS ? `${word.slice(0, MAX_SHOWN_CHARS)}…` : word));
      const shown = ["buildah", "build", ...shortly, "-f", dockerfile.replace(`${folder}/`, ""), context.replace(`${folder}/`, "")];
      await run("buildah", ["build", ...trust, ...isolation, ...capabilities, ...named, "-t", tag, "-f", dockerfile, "--", context], {
        shown,
      });
    },
    async usersOf(image) {
      if (!image.startsWith("localhost/")) await run("buildah", ["pull", ...trust, image], { shown: ["buildah", "pull", image] });
      return imageUsers(await run("buildah", ["inspect", "--type", "image", image], { capture: true }));
    },
    async push(image, target) {
      await run("buildah", ["push", "--quiet", ...trust, image, target], { capture: true });
    },
  };
}

async function buildDockerfile(buildah: Buildah, plan: DockerfileBuild, repository: string): Promise<string> {
  await buildah.build(FIRST, join(repository, plan.dockerfile), join(repository, plan.context), plan);
  return FIRST;
}

async function addFeatures(
  plan: BuildPlan,
  base: string,
  { folder, run, buildah }: { folder: string; run: RunTool; buildah: Buildah },
): Promise<string> {
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
