import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

// What the thread that runs a page has done since, by the kernel's account: worked, or stood ready while its core was
// somebody else's. To be asked of a page that is alone in its process, as the first of a context is.
export async function watchMainThread(page: Page): Promise<() => Promise<{ cpuMs: number; waitedMs: number }>> {
  const before = await renderers(page);
  return async () => {
    const since = [...(await renderers(page))].map(([pid, now]) => {
      const then = before.get(pid) ?? { cpuMs: 0, waitedMs: 0 };
      return { cpuMs: now.cpuMs - then.cpuMs, waitedMs: now.waitedMs - then.waitedMs };
    });
    // A browser keeps a spare process; ours is the one that has worked.
    return since.reduce((busiest, other) => (other.cpuMs > busiest.cpuMs ? other : busiest), { cpuMs: 0, waitedMs: 0 });
  };
}

async function renderers(page: Page): Promise<Map<number, { cpuMs: number; waitedMs: number }>> {
  const session = await page.context().browser()!.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  const pids = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
  return new Map(pids.map((pid) => [pid, schedule(pid)]));
}

// Of a process's first thread, in nanoseconds: time on a core, time waiting for one.
function schedule(pid: number): { cpuMs: number; waitedMs: number } {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ").map(Number);
    return { cpuMs: ran / 1e6, waitedMs: waited / 1e6 };
  } catch {
    // Gone, or a system that keeps no such account.
    return { cpuMs: 0, waitedMs: 0 };
  }
}
