import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { readConfig } from "../server/config/config.ts";

// Builds the image with Node, Python, Go, git and common tools (the target `tools` of deploy/Dockerfile.sandbox) with Docker or buildah,
// writes it into a file that the oci driver reads, and says what to put into a template.
const NAME = "berth-tools";
const root = resolve(import.meta.dirname, "..");

const { values } = parseArgs({ options: { base: { type: "string" }, to: { type: "string" } } });
const file = resolve(values.to ?? `${readConfig(process.env).config.dataDir}/${NAME}.tar`);
const builder = ["docker", "buildah"].find((name) => spawnSync(name, ["info"], { stdio: "ignore" }).status === 0);
if (builder === undefined) fail("Building an image needs a Docker Engine or buildah (apt-get install buildah).");

const startedMs = performance.now();
const base = values.base === undefined ? [] : ["--build-arg", `BASE=${values.base}`];
const common = [...base, "--target", "tools", "--file", "deploy/Dockerfile.sandbox", "--tag", NAME, "."];
// buildah needs no rights beyond its own user namespace this way, and no container runtime.
if (!run(builder, ["build", ...(builder === "buildah" ? ["--isolation", "chroot", "--layers"] : []), ...common]))
  fail(
    `${builder} could not build the image. If its registry cannot be reached, name another image with Debian and Node: npm run image -- --base …`,
  );
// Neither program replaces a file.
rmSync(file, { force: true });
mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
const save = builder === "docker" ? ["save", "--output", file, NAME] : ["push", "--quiet", NAME, `docker-archive:${file}:${NAME}:latest`];
if (!run(builder, save)) fail(`${builder} could not write ${file}.`);

const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1);
const megabytes = Math.round(statSync(file).size / 1e6);
console.log(`
berth: built ${NAME} with ${builder} in ${minutes} minutes: ${file}, ${megabytes} MB.
Name it in the file of BERTH_TEMPLATES, and every new session has Node, Python, Go, git and common tools:

  default:
    image: docker-archive:${file}
${builder === "docker" ? `\nThe driver docker takes it by its name: image: ${NAME}\n` : ""}`);

function run(program: string, args: string[]): boolean {
  return spawnSync(program, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] }).status === 0;
}

function fail(message: string): never {
  console.error(`berth: ${message}`);
  process.exit(1);
}
