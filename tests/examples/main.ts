// `npm run examples:next`: installs examples/next-app as its README says into a temporary folder, builds it, and uses it in a browser. The
// packages need 360 MB and the build half a minute, so `npm test` only runs its routes. `--picture` takes the picture of its README.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { createBerth } from "../../client/index.ts";
import { openInFrame, signIn } from "../../scripts/screenshots/examples.ts";
import { launchChromium } from "../support/browser/workspace.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { runCliForJson } from "../support/servers/cli.ts";
import { freePort } from "../support/servers/port.ts";
import { examples } from "./example-app.ts";
import { nextAppSettings, walkThroughNextApp } from "./next-journey.ts";

await using resources = new AsyncDisposableStack();
const berth = resources.use(await startBerth({ BERTH_WEBHOOK_ALLOW_PRIVATE: "1" }));
const folder = mkdtempSync(join(tmpdir(), "berth-next-"));
resources.defer(() => rmSync(folder, { recursive: true, force: true }));
cpSync(join(examples, "next-app"), folder, { recursive: true, filter: (path) => !["node_modules", ".next"].includes(basename(path)) });
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`, NEXT_TELEMETRY_DISABLED: "1" };
const step = (name: string, ...args: string[]) => {
  const startedMs = performance.now();
  execFileSync("npm", args, { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] });
  console.log(`${name}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
};
step("install", "install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error", `${berth.url}/clients/berth-client.tgz`);
step("build with types", "run", "build");

const port = await freePort();
const appUrl = `http://localhost:${port}`;
await startNext(await nextAppSettings({ appUrl, server: berth }));
await runCliForJson(berth, "partner", "update", "demo", "--name", "Acme Academy", "--origin", appUrl);
await walkThroughNextApp({ appUrl, server: berth });
console.log("its routes sign in, open, resume and verify");
await useInBrowser(berth);
console.log("its pages work in a browser");

async function startNext(settings: Record<string, string>): Promise<void> {
  const args = ["node_modules/next/dist/bin/next", "start", "--port", String(port)];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...env, BERTH_URL: berth.url, BERTH_API_KEY: berth.key, ...settings },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  resources.defer(async () => {
    child.kill();
    await exited;
  });
  const startedMs = performance.now();
  for await (const chunk of child.stdout) if (String(chunk).includes("Ready")) break;
  child.stdout.resume();
  console.log(`start: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
}

async function useInBrowser({ url, key }: Berth): Promise<void> {
  const browser = await launchChromium();
  resources.defer(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, deviceScaleFactor: 1.5 });
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  const session = await createBerth({ baseUrl: url, apiKey: key }).sessions.forUser("ada");
  await session.files.write("lesson.md", "# Lesson 1\n\nSay hello to the world, in a language that you like.\n");
  await page.goto(`${appUrl}/?wrong`);
  await page.getByText("The name or the password is wrong.").waitFor();
  await signIn(page, appUrl);
  // A webhook may arrive after the page.
  while (!(await page.getByText(/session\.resumed at \d\d:\d\d:\d\d/).isVisible()))
    await page.waitForTimeout(500).then(() => page.reload());
  await openInFrame(page, "lesson.md");
  if (process.argv.includes("--picture"))
    await page.screenshot({ path: join(examples, "../docs/images/example-next-app.png"), animations: "disabled", caret: "hide" });
  await session.pause();
  await page.frameLocator("iframe").getByRole("button", { name: "Resume" }).click();
  await page.frameLocator("iframe").getByRole("alertdialog").waitFor({ state: "detached" });
  if ((await session.refresh()).status !== "running") throw new Error("The Resume button did not resume the session");
  if (faults.length > 0) throw new Error(faults.join("\n"));
}
