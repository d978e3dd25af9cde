import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import type { FrameLocator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newWorkspacePage, shareChromium } from "../support/browser/workspace.ts";
import { samplesOf, type Sample } from "../support/docs/samples.ts";
import { describeWith, machine } from "../support/machine.ts";
import { daemonRuntime } from "../support/runtime.ts";
import { runNpmStart, type NpmStart } from "../support/servers/npm-start.ts";
import { freePort } from "../support/servers/port.ts";

// Follows docs/tutorial.md word for word, in an empty folder: every file is written and every command is run as the page has it. Only the
// clone is this checkout, and the two ports are free ones.
const folder = mkdtempSync(join(tmpdir(), "berth-tutorial-"));
const root = join(import.meta.dirname, "../..");

describeWith([machine.chromium], "a reader of the tutorial", () => {
  const steps = samplesOf("docs/tutorial.md");
  let server: NpmStart;
  let appUrl: string;
  let app: ChildProcess | undefined;
  // The folder of the reader's terminal.
  let place = folder;

  beforeAll(async () => {
    await daemonRuntime();
    appUrl = `http://localhost:${await freePort()}`;
  });

  afterAll(async () => {
    await stopApp();
    for (const context of (await shareChromium()).contexts()) await context.close();
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test("starts Berth", async () => {
    const data = join(folder, "berth/.berth");
    mkdirSync(data, { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "berth/node_modules"));
    const [clone, ...commands] = steps.shift()!.text.trim().split("\n");
    expect(clone).toBe("git clone … berth");
    server = await runNpmStart([`cd ${folder}`, ...commands].join("\n"), { BERTH_DATA_DIR: data });
    await expect.poll(server.isReady, { timeout: 100_000 }).toBe(true);
  });

  // The file that the sentence before the block names, or commands.
  async function follow({ language, text: asWritten, before }: Sample): Promise<void> {
    const code = asWritten.replaceAll("8080", new URL(server.url).port).replaceAll("3000", new URL(appUrl).port);
    if (language === "sh") return code.includes("server.js") ? await startApp(code) : await runCommands(code);
    const sentence = before.split("\n\n").at(-1)!.replaceAll("\n", " ");
    const [, created] = /[Cc]reate `([\w.]+)`[^`]*$/.exec(sentence) ?? [];
    const [, extended] = /at the end of `([\w.]+)`:$/.exec(sentence) ?? [];
    const [, changed, kept] = /^In `([\w.]+)`, replace everything above `(\w+)`:$/.exec(sentence) ?? [];
    if (created !== undefined) writeFileSync(join(place, created), code);
    else if (extended !== undefined) writeFileSync(join(place, extended), read(extended) + code);
    else if (changed !== undefined)
      writeFileSync(join(place, changed), `${code}\n${read(changed).slice(read(changed).indexOf(`\n${kept}(`) + 1)}`);
    else throw new Error(`The tutorial does not say what to do with this block: ${asWritten}`);
  }

  const read = (name: string) => readFileSync(join(place, name), "utf8");
  // The reader has the Node of the machine, and settings that keep this server apart from others.
  const path = (process.env.PATH ?? "").split(delimiter).filter((entry) => !entry.startsWith(root));
  const env = () => ({ PATH: path.join(delimiter), HOME: folder, ...server.env });

  async function runCommands(code: string): Promise<void> {
    const shell = spawn("bash", ["-e", "-c", `${code}\npwd >&3`], { cwd: place, env: env(), stdio: ["ignore", "pipe", "pipe", "pipe"] });
    const outputs = Promise.all(shell.stdio.slice(1).map((stream) => text(stream as NodeJS.ReadableStream)));
    const [status] = (await once(shell, "close")) as [number];
    const [stdout, stderr, endedIn] = await outputs;
    expect(status, `${code}\n${stdout}\n${stderr}`).toBe(0);
    place = endedIn!.trim();
  }

  async function startApp(code: string): Promise<void> {
    app = spawn("bash", ["-c", `exec ${code}`], { cwd: place, env: env(), stdio: ["ignore", "pipe", "inherit"] });
    expect(String(await once(app.stdout!, "data"))).toContain(appUrl);
  }

  async function stopApp(): Promise<void> {
    if (!app || app.exitCode !== null) return;
    app.kill("SIGINT");
    await once(app, "exit");
  }

  async function followUntil(isLast: (step: Sample) => boolean): Promise<void> {
    for (let step = steps.shift(); step; step = steps.shift()) {
      await follow(step);
      if (isLast(step)) return;
    }
  }

  async function signIn(page: Page, name: string, password: string): Promise<FrameLocator> {
    await page.goto(appUrl);
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    return page.frameLocator("iframe");
  }

  // The session that the app opens for a user.
  async function launchedBy(name: string, password: string): Promise<string | null> {
    const form = { method: "POST", redirect: "manual", body: new URLSearchParams({ name, password }) } as const;
    const [cookie = ""] = (await fetch(`${appUrl}/login`, form)).headers.getSetCookie();
    const { headers } = await fetch(`${appUrl}/workspace`, { redirect: "manual", headers: { cookie } });
    return new URL(headers.get("location")!).searchParams.get("s");
  }

  const newPage = async () => newWorkspacePage(await shareChromium());
  let page: Page;

  test("has a page with a login and a workspace for each user", async () => {
    await followUntil(({ text: code }) => code.includes("server.js"));
    page = await newPage();
    await signIn(page, "ada", "wrong");
    await page.getByText("The name or the password is wrong.").waitFor();

    const workspace = await signIn(page, "ada", "engine");
    await workspace.getByRole("button", { name: "New file" }).first().waitFor();
    await page.getByText("lesson 1, for ada").waitFor();
    expect(await launchedBy("grace", "compiler")).not.toBe(await launchedBy("ada", "engine"));
  });

  test("sees in the page what the webhook reports", async () => {
    await stopApp();
    await followUntil(() => false);
    const workspace = await signIn(page, "ada", "engine");
    await page.getByText("Your workspace is running.").waitFor();
    await workspace.getByRole("button", { name: "New file" }).first().waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Your workspace is paused.").waitFor();
    await workspace.getByRole("button", { name: "Resume" }).click();
    await page.getByText("Your workspace is running.").waitFor();

    const forged = { method: "POST", body: JSON.stringify({ data: { externalUserId: "ada", status: "destroyed" } }) };
    expect((await fetch(`${appUrl}/hooks/berth`, forged)).status).toBe(401);
  });
});
