import { readdirSync, readFileSync } from "node:fs";

// The pid of the program with this name and HOME.
export function findProcess({ program, home }: { program: string; home: string }): string | undefined {
  return readdirSync("/proc").find(
    (pid) =>
      /^\d+$/.test(pid) && read(`/proc/${pid}/environ`).includes(`HOME=${home}`) && read(`/proc/${pid}/cmdline`).startsWith(`${program}\0`),
  );
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
