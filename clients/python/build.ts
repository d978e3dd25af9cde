// Builds clients/python/dist: the wheel that the server hands out. It needs Node alone, because a machine that serves may lack Python.
// The types and the blocking client are written here; the rest of the package is berth/ as it is.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generatePythonTypes } from "./build/python-types.ts";
import { toSyncSource } from "./build/sync-source.ts";
import { packWheel, wheelName } from "./build/wheel.ts";

const folder = import.meta.dirname;
const packed = join(folder, "dist/packed");

export function buildPythonClient(): string {
  // One version for the server and its clients.
  const { version } = JSON.parse(readFileSync(join(folder, "../../client/package.json"), "utf8")) as { version: string };
  const facts = {
    name: "berth",
    version,
    summary: "Coding sessions for the users of your product: the client of Berth's partner API",
    license: "Apache-2.0",
    requiresPython: ">=3.9",
    requires: ["anyio>=3", "httpx>=0.23"],
    readme: readFileSync(join(folder, "README.md"), "utf8"),
  };
  const wheel = join(packed, wheelName(facts));
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  writeFileSync(wheel, packWheel(facts, packageFiles(version)));
  return wheel;
}

function packageFiles(version: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const path of globSync("berth/**/*.{py,typed}", { cwd: folder }).toSorted()) {
    const text = readFileSync(join(folder, path), "utf8");
    files[path] = path === "berth/__init__.py" ? text.replace("0.0.0", version) : text;
    if (path.startsWith("berth/_async/")) files[path.replace("_async", "_sync")] = toSyncSource(text);
  }
  return { ...files, "berth/_types.py": generatePythonTypes(), "berth/LICENSE": readFileSync(join(folder, "../../LICENSE"), "utf8") };
}

if (import.meta.main) buildPythonClient();
