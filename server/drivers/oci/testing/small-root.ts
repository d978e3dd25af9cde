import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";

// For tests: makes the root folder of a template with a shell, these programs of the host, and their libraries.
export function makeSmallRoot(programs: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "berth-root-"));
  chmodSync(root, 0o755);
  const copied = [...programs.map((name) => join("/usr/bin", name)), "/usr/bin/dash"];
  const listed = execFileSync("ldd", copied, { encoding: "utf8" });
  const libraries = new Set([...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path!));
  const copy = (from: string, to: string) => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    copyFileSync(from, join(root, to));
  };
  for (const library of libraries) copy(library, library);
  for (const program of copied) copy(program, join("/bin", program.endsWith("dash") ? "sh" : basename(program)));
  mkdirSync(join(root, "etc"));
  writeFileSync(join(root, "etc/mark"), "its own root\n");
  return root;
}
