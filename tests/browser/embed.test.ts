import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBerth } from "../../client/index.ts";
import { startExample, type ExampleApp } from "../examples/example-app.ts";
import { prepareBerth, type Berth } from "../support/servers/berth.ts";
import { eventually, launchChromium } from "../support/browser/workspace.ts";
import { describeWith, machine } from "../support/machine.ts";
import { describeOnSharedServer } from "../support/browser/browser-suite.ts";
import { openTlsFront, type TlsFront } from "../support/servers/tls.ts";
import { runCli, type CliPlace } from "../support/servers/cli.ts";

const PROGRAM = "partner-app/server.ts";

describeOnSharedServer("the example partner app", (suite) => {
  let app: ExampleApp;
  let page: Page;

  beforeAll(async () => {
    const webhooks = createBerth({ baseUrl: suite.berth.url, apiKey: suite.berth.key }).webhooks;
    const settings = async (url: string) => ({ BERTH_WEBHOOK_SECRET: (await webhooks.create({ url: `${url}/hooks/berth` })).secret });
    app = await startExample(suite.berth, PROGRAM, { settings });
  });
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]();
    for await (const session of createBerth({ baseUrl: suite.berth.url, apiKey: suite.berth.key }).sessions.list()) await session.destroy();
  });

  test("shows nothing without a login, and cannot embed the workspace before its origin is allowed", async () => {
    const answer = await fetch(`${app.url}/workspace`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/"]);
    expect((await fetch(`${app.url}/login`, { method: "POST", body: new URLSearchParams({ user: "ada", password: "" }) })).status).toBe(
      403,
    );
    page = await openPage(suite.browser, app.url);
    await eventually(() => childOf(page)?.url()).toMatch(/^chrome-error:/);
  });

  test("embeds the workspace from another origin, also after a reload", async () => {
    await allowOrigin(suite.berth, app.url, suite.berth.partnerId);
    // The server reads the new origin within seconds.
    const framed = () => page.reload().then(() => childOf(page)?.url());
    await eventually(framed).toMatch(/\/workspace\/sbx_\w+\/$/);
    const first = childOf(page)!.url();
    expect(await greetingThroughFrame(page, suite.berth)).toBe("hello from the frame");
    await page.reload();
    await eventually(() => childOf(page)?.url()).toBe(first);
    expect(await statusInFrame(page)).toBe(200);
  });

  test("exchanges messages with the workspace in its frame", async () => {
    const { sessionId } = await sessionInFrame(page);
    await page.evaluate(connectPage(new URL("/workspace/embed.js", childOf(page)!.url()).href));
    const events = () => page.evaluate("window.events") as Promise<{ type: string; sessionId: string }[]>;
    await eventually(events).toContainEqual({ berth: 1, type: "ready", status: "running", sessionId });

    await page.evaluate("workspace.setTheme('dark'), workspace.openFile('lessons/one.rs', { line: 2 })");
    const frame = childOf(page)!;
    await frame.locator('html[data-theme="dark"]').waitFor();
    await frame.getByRole("tab", { name: "one.rs" }).waitFor();
    // The user's own setting is still the system's theme.
    await frame.getByRole("button", { name: "Theme: system" }).waitFor();

    // The theme is dark, so the colour is lighter than the partner's.
    await runCli(
      suite.berth,
      "partner",
      "update",
      suite.berth.partnerId,
      "--accent",
      "#7c3aed",
      "--hide-agent",
      "yes",
      "--offer-ssh",
      "yes",
    );
    await eventually(() => frame.evaluate("document.documentElement.style.getPropertyValue('--accent')")).toMatch(/^#[b-d]/);
    await frame.getByRole("button", { name: "Agent" }).waitFor({ state: "detached" });
    await frame.getByRole("button", { name: "Go to file" }).first().click();
    await frame.getByRole("dialog").getByRole("combobox").fill(">ssh command");
    await frame.getByRole("option", { name: "Copy SSH command" }).waitFor();
    await page.keyboard.press("Escape");

    await suite.berth.api.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
    await frame.getByRole("button", { name: "Resume" }).click();
    const later = async () => (await events()).map(({ type }) => type).filter((type) => type !== "ready");
    await eventually(later).toEqual(["paused", "needs-resume", "resumed"]);
    await frame.getByRole("alertdialog").waitFor({ state: "detached" });
  });

  test("resumes a paused session and creates a new one after a destroy", async () => {
    const before = childOf(page)!.url();
    const { sessionId } = await sessionInFrame(page);
    await suite.berth.api.call("POST", `/api/b2b/sessions/${sessionId}/pause`);
    await page.reload();
    await eventually(async () => (await sessionInFrame(page)).status).toBe("running");
    expect(childOf(page)!.url()).toBe(before);
    await suite.berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
    await page.reload();
    await eventually(() => childOf(page)?.url()).toMatch(/\/workspace\/sbx_\w+\/$/);
    expect(childOf(page)!.url()).not.toBe(before);
  });

  test("shows what webhooks report about the user, and refuses a forged one", async () => {
    const news = () => page.reload().then(() => page.locator("header small").textContent());
    await eventually(news).toMatch(/^session\.\w+ at \d\d:\d\d:\d\d$/);
    const forged = { type: "session.forged", timestamp: new Date().toISOString(), data: { externalUserId: "ada" } };
    const headers = { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(Date.now() / 1000)), "webhook-signature": "v1,AAAA" };
    const answer = await fetch(`${app.url}/hooks/berth`, { method: "POST", headers, body: JSON.stringify(forged) });
    expect([answer.status, await news()]).toEqual([401, expect.not.stringContaining("forged")]);
    await page.getByRole("button", { name: "Sign out ada" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
  });
});

// Connects like the example's page, and keeps what arrives.
const connectPage = (script: string) => `import(${JSON.stringify(script)}).then(({ connectWorkspace }) => {
  window.workspace = connectWorkspace(document.querySelector("iframe"), { canResume: true });
  window.events = [];
  for (const type of ["ready", "paused", "resumed", "destroyed", "needs-resume", "timeout-warning"])
    workspace.on(type, (event) => events.push(event));
})`;

describeWith([machine.chromium, machine.command("openssl")], "the example partner app on HTTPS and another site", () => {
  let berth: Berth;
  let browser: Browser;
  let app: ExampleApp;
  let berthFront: TlsFront;
  let appFront: TlsFront;
  let page: Page;

  beforeAll(async () => {
    // All names resolve to this machine, and third-party cookies are blocked, as in more and more browsers.
    browser = await launchChromium(["--host-resolver-rules=MAP * 127.0.0.1", "--test-third-party-cookie-phaseout"]);
    berthFront = await openTlsFront(() => Number(new URL(berth.url).port));
    appFront = await openTlsFront(() => Number(new URL(app.url).port));
    berth = await prepareBerth({
      // Allows the process driver where there is no other. The host name resolves only on this machine.
      BERTH_ALLOW_UNISOLATED: "1",
      BERTH_BASE_URL: `https://berth.example:${berthFront.port}`,
      BERTH_PREVIEW_DOMAIN: `preview.test:${berthFront.port}`,
    });
    await berth.start();
    app = await startExample(berth, PROGRAM);
    await allowOrigin(berth, `https://academy.test:${appFront.port}`);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.[Symbol.asyncDispose]();
    for (const front of [berthFront, appFront]) await front?.[Symbol.asyncDispose]();
    await berth?.[Symbol.asyncDispose]();
  });

  test("works without third-party cookies, with a partitioned cookie", async () => {
    page = await openPage(browser, `https://academy.test:${appFront.port}`);
    await eventually(() => childOf(page)?.url()).toMatch(/^https:\/\/berth\.example:\d+\/workspace\/sbx_\w+\/$/);
    expect(await greetingThroughFrame(page, berth)).toBe("hello from the frame");
    const cookies = (await page.context().cookies()).filter(({ name }) => name !== "login");
    expect(cookies).toHaveLength(1);
    expect(cookies[0]).toMatchObject({ httpOnly: true, secure: true, sameSite: "None", path: "/", partitionKey: "https://academy.test" });
    expect(cookies[0]!.name).toMatch(/^__Host-berth-sbx_/);
  });

  test("shows a preview in a nested frame on a third site", async () => {
    const sandboxId = /sbx_\w+/.exec(childOf(page)!.url())![0];
    await berth.api.exec(sandboxId, `(/opt/berth/bin/node -e '${HELLO}' >/dev/null 2>&1 &)`);
    const { url } = await askInFrame<{ url: string }>(
      page,
      `fetch("preview", { method: "POST", body: '{"port":3000}' }).then((answer) => answer.json())`,
    );
    await askInFrame(page, `void document.body.append(Object.assign(document.createElement("iframe"), { src: ${JSON.stringify(url)} }))`);
    const preview = () => childOf(page)!.childFrames()[0];
    await eventually(() =>
      preview()
        ?.evaluate("document.body.textContent")
        .catch(() => ""),
    ).toBe("hello from port 3000");
    expect(new URL(preview()!.url()).hostname).toBe(`3000-${sandboxId.replace("_", "-")}.preview.test`);
  });

  test("opens in its own tab with a launch URL, but not with the cookie of the frame", async () => {
    const tab = await page.context().newPage();
    expect((await tab.goto(childOf(page)!.url()))!.status()).toBe(401);
    const { sessionId } = await sessionInFrame(page);
    const { body } = await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`);
    expect((await tab.goto((body as { url: string }).url))!.status()).toBe(200);
    expect(tab.url()).toBe(childOf(page)!.url());
  });
});

const HELLO = `require("http").createServer((q, r) => r.setHeader("content-type", "text/html").end("hello from port 3000")).listen(3000)`;

// Uses the CLI, like an operator.
async function allowOrigin(berth: CliPlace, origin: string, partnerId = "demo"): Promise<void> {
  expect(await runCli(berth, "partner", "update", partnerId, "--origin", origin)).toMatchObject({ code: 0, stderr: "" });
}

async function openPage(browser: Browser, url: string): Promise<Page> {
  const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
  await page.goto(url);
  await page.getByLabel("Name").fill("ada");
  await page.getByLabel("Password").fill("engine");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("iframe").waitFor();
  return page;
}

const childOf = (page: Page): Frame | undefined => page.mainFrame().childFrames()[0];

const askInFrame = <Result>(page: Page, expression: string): Promise<Result> => childOf(page)!.evaluate<Result>(expression);

const statusInFrame = (page: Page) => askInFrame<number>(page, `fetch("session").then((answer) => answer.status)`);

const sessionInFrame = (page: Page) =>
  askInFrame<{ sessionId: string; status: string }>(page, `fetch("session").then((answer) => answer.json())`);

// Writes a file inside the frame, with its cookie and origin, and reads it through the partner API.
async function greetingThroughFrame(page: Page, berth: Pick<Berth, "api">): Promise<string | undefined> {
  await askInFrame(page, `fetch("api/files/content?path=hello.txt", { method: "PUT", body: "hello from the frame" })`);
  const sandboxId = /sbx_\w+/.exec(childOf(page)!.url())![0];
  return (await berth.api.readFile(sandboxId, "hello.txt"))?.toString();
}
