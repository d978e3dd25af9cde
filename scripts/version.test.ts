import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { VERSION } from "../contract/version.ts";

interface Manifest {
  version?: string;
  workspaces?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const { workspaces = [] } = JSON.parse(read("package.json")) as Manifest;
const folders = ["", ...globSync(workspaces, { cwd: root })];
const packages = [...folders, "clients/computesdk"];

test("all packages, and what they need of each other, have the version of Berth", () => {
  const wrong = packages.flatMap((folder) =>
    wrongVersions(folder || "the root", JSON.parse(read(join(folder, "package.json"))) as Manifest),
  );
  expect(wrong).toEqual([]);
});

test("the lockfile has the same versions", () => {
  const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, Manifest> };
  expect(folders.flatMap((folder) => wrongVersions(folder || "the root", lock.packages[folder] ?? {}))).toEqual([]);
});

test("the newest release in the changelog is this version, below what is not released yet", () => {
  const [unreleased, newest] = [...read("CHANGELOG.md").matchAll(/^## (.+)$/gm)].map(([, title]) => title);
  expect([unreleased, newest?.split(" ")[0]]).toEqual(["Unreleased", VERSION]);
});

test("images, wheels and tags in documents and manifests have this version", () => {
  const files = globSync(["*.md", "{clients,deploy,docs}/**/*.{md,env,yaml,yml}"], {
    cwd: root,
    exclude: ["**/node_modules/**", "**/dist/**"],
  });
  const named = files
    .filter((file) => file !== "CHANGELOG.md")
    .flatMap((file) =>
      [...read(file).matchAll(/(?:registry\.example\.com\/berth(?:-sandbox)?:|newTag: |\/berth-)(\d+\.\d+\.\d+)/g)].map(
        ([text, version]) => ({
          text: `${file}: ${text}`,
          version,
        }),
      ),
    );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ version }) => version !== VERSION)).toEqual([]);
});

function wrongVersions(name: string, { version, dependencies, devDependencies }: Manifest): string[] {
  const needed = Object.entries({ ...dependencies, ...devDependencies }).filter(([other]) => other.startsWith("@berth/"));
  return [["version", version] as const, ...needed]
    .filter(([, found]) => found !== VERSION)
    .map(([what, found]) => `${name}: ${what} ${found}`);
}
