import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import type { Session } from "@berth/contract";
import { seriousFaults } from "../support/browser/axe.ts";
import { openConsole, signIn } from "../support/browser/console.ts";
import { expectGone, expectVisible } from "../support/browser/workspace.ts";
import { runCliForJson } from "../support/servers/cli.ts";
import { describeInBrowser, type BrowserSuite } from "../support/browser/browser-suite.ts";

const headline = (page: Page) => page.locator("h1").textContent();

const openTab = async ({ browser }: BrowserSuite): Promise<Page> => (await browser.newContext()).newPage();

// A tab that does not load the workspace's scripts, for tests that are about its address.
async function openTabWithoutScripts(suite: BrowserSuite): Promise<Page> {
  const page = await openTab(suite);
  await page.route("**/workspace/assets/**", (route) => route.abort());
  return page;
}

async function launchUrl({ berth }: BrowserSuite, { sessionId }: Session): Promise<string> {
  const { body } = await berth.api.call("POST", `/api/b2b/sessions/${sessionId}/launch-url`);
  return (body as { url: string }).url;
}

describeInBrowser("a launch URL in a browser", (suite) => {
  // The session of the tests that do not change it.
  let session: Session;
  beforeAll(async () => void (session = await suite.berth.api.create()));
  const workspaceUrl = ({ sandboxId }: Session) => `${suite.berth.url}/workspace/${sandboxId}/`;

  test("can be issued on the docs page, with a key that stays in the page", async () => {
    await using page = await openTab(suite);
    await page.goto(`${suite.berth.url}/docs/api`);
    await page.getByLabel("API key for Try it").fill(suite.berth.key);
    const operation = (id: string) => page.locator(`article#${id}`);
    const send = async (id: string, fill: Record<string, string>, body?: string) => {
      await operation(id).getByText("Try it").click();
      for (const [name, value] of Object.entries(fill)) await operation(id).locator(`input[name="${name}"]`).fill(value);
      if (body !== undefined) await operation(id).getByLabel("Body").fill(body);
      await operation(id).getByRole("button", { name: "Send" }).click();
      await operation(id).locator("output .success, output .failure").waitFor();
      return operation(id).locator("output pre");
    };
    const created = JSON.parse((await (await send("createSession", {}, '{"externalUserId":"reader"}')).textContent())!) as Session;
    const output = await send("exec", { sandboxId: created.sandboxId }, '{"command":"echo from the docs page"}');
    await expect.poll(() => output.textContent()).toContain('{"type":"stdout","data":"from the docs page\\n"}');
    expect(await page.evaluate("JSON.stringify([localStorage.length, sessionStorage.length, document.cookie])")).toBe('[0,0,""]');
    await send("destroySession", { id: "ses_x" });
    expect(await operation("destroySession").locator("output .failure").textContent()).toContain("404 session_not_found");
  });

  test("comes from the start page with one click", async () => {
    await using page = await openTab(suite);
    const violations: string[] = [];
    page.on("console", (message) => void (message.type() === "error" && violations.push(message.text())));
    await page.goto(suite.berth.url);
    expect(await headline(page)).toBe("Berth");
    expect(await seriousFaults(page)).toEqual([]);
    // The machine's other name works too: the redirect then leads to another origin.
    await page.goto(suite.berth.url.replace("localhost", "127.0.0.1"));
    await page.getByRole("button", { name: "Open a workspace" }).click();
    await page.waitForURL(/^http:\/\/localhost:\d+\/workspace\/sbx_\w+\/$/);
    await page.getByRole("main").waitFor();
    expect(violations).toEqual([]);
  });

  test("redirects to a URL without a secret and leaves no trace of the secret", async () => {
    await using page = await openTabWithoutScripts(suite);
    await page.goto("about:blank");
    await page.goto(await launchUrl(suite, session));
    expect(page.url()).toBe(workspaceUrl(session));
    expect(await page.evaluate("document.referrer")).toBe("");
    expect(await page.evaluate("document.cookie")).toBe("");
    const devtools = await page.context().newCDPSession(page);
    const { data, errors } = await devtools.send("Page.getAppManifest");
    expect(errors).toEqual([]);
    expect(JSON.parse(data!)).toMatchObject({ start_url: new URL(workspaceUrl(session)).pathname });
    await page.reload();
    expect(page.url()).toBe(workspaceUrl(session));
    await page.goBack();
    expect(page.url()).toBe("about:blank");
  });

  test("opens several sandboxes in one browser at the same time", async () => {
    await using page = await openTabWithoutScripts(suite);
    const sessions = [session, await suite.berth.api.create()];
    for (const each of sessions) await page.goto(await launchUrl(suite, each));
    for (const { sandboxId } of sessions) {
      const response = await page.goto(`${suite.berth.url}/workspace/${sandboxId}/session`);
      expect(await response!.json()).toMatchObject({ sandboxId, status: "running" });
    }
  });

  test("explains a forged link, a missing cookie and a destroyed session", async () => {
    await using page = await openTabWithoutScripts(suite);
    const destroyed = await suite.berth.api.create();
    const url = await launchUrl(suite, destroyed);
    expect((await page.goto(`${url.slice(0, -1)}${url.endsWith("A") ? "E" : "A"}`))!.status()).toBe(403);
    expect(await headline(page)).toBe("This link is not valid");
    expect(await page.locator("body").innerText()).not.toContain("{");
    expect(await page.getByRole("treeitem").count()).toBe(0);
    expect((await page.goto(workspaceUrl(destroyed)))!.status()).toBe(401);
    expect(await headline(page)).toBe("This browser has no access to the workspace");
    await page.goto(await launchUrl(suite, destroyed));
    await suite.berth.api.call("DELETE", `/api/b2b/sessions/${destroyed.sessionId}`);
    expect((await page.goto(workspaceUrl(destroyed)))!.status()).toBe(410);
    expect(await headline(page)).toBe("This workspace no longer exists");
    expect(await page.context().cookies()).toEqual([]);
  });

  test("is not used up by a browser that prefetches it", async () => {
    await using page = await openTabWithoutScripts(suite);
    const url = await launchUrl(suite, session);
    await page.route(`${suite.berth.url}/healthz`, (route) =>
      route.fulfill({ contentType: "text/html", body: `<link rel="prefetch" href="${url.replaceAll("&", "&amp;")}">` }),
    );
    const prefetched = page.waitForResponse(url);
    await page.goto(`${suite.berth.url}/healthz`);
    expect((await prefetched).status()).toBe(503);
    expect(await page.context().cookies()).toEqual([]);
  });

  test("does not let files of the sandbox run on the workspace's origin", async () => {
    await using page = await openTabWithoutScripts(suite);
    await suite.berth.api.writeFile(session.sandboxId, "evil.html", "<script>document.title = 'stolen'</script>");
    await suite.berth.api.writeFile(session.sandboxId, "evil.js", "document.title = 'stolen'");
    await page.goto(await launchUrl(suite, session));
    const address = (name: string) => `/workspace/${session.sandboxId}/api/files/content?path=${name}`;
    const download = page.waitForEvent("download");
    await page.evaluate(`location.href = ${JSON.stringify(address("evil.html"))}`);
    await download;
    expect(page.url()).toBe(workspaceUrl(session));
    const loaded = await page.evaluate(`new Promise((done) => {
      const script = document.createElement("script");
      Object.assign(script, { src: ${JSON.stringify(address("evil.js"))}, onload: () => done("ran"), onerror: () => done("blocked") });
      document.body.append(script);
    })`);
    expect(loaded).toBe("blocked");
    const registered = await page.evaluate(
      `navigator.serviceWorker.register(${JSON.stringify(address("evil.js"))}).then(() => "registered", () => "blocked")`,
    );
    expect(registered).toBe("blocked");
  });

  test("support looks at a workspace after the partner allowed it, and the user sees it for as long as it lasts", async () => {
    const { token } = await runCliForJson<{ token: { token: string } }>(suite.berth, "console", "token", "--name", "Ada");
    await using user = await suite.openWorkspace();
    const { sessionId } = user.session;
    const notice = user.page.getByText("Support is looking at this workspace");

    await using operator = await openConsole(suite, `/console/sessions/${sessionId}`);
    await signIn(operator.page, "Operator token", token.token);
    await expectVisible(operator.page.getByRole("heading", { name: sessionId }));
    expect(await operator.page.getByRole("button", { name: "Look at the workspace" }).count()).toBe(0);

    await using partner = await openConsole(suite, "/console/partner/account");
    await signIn(partner.page, "API key", suite.berth.key);
    await partner.page.getByRole("checkbox", { name: /support may look at workspaces/ }).click();
    await expectVisible(partner.page.getByText("may look at workspaces", { exact: true }));

    await operator.page.getByRole("button", { name: "Look at the workspace" }).click();
    await operator.page.getByRole("button", { name: "Look", exact: true }).click();
    const [tab] = await Promise.all([
      operator.page.context().waitForEvent("page"),
      operator.page.getByRole("link", { name: "Open the workspace" }).click(),
    ]);
    await expectVisible(tab.getByText("View only").first());
    await expectVisible(notice);
    // The notice leaves the workspace as it is.
    expect((await notice.boundingBox())!.height).toBeLessThan(60);
    expect(await seriousFaults(user.page, ".support-notice")).toEqual([]);
    await tab.close();
    await expectGone(notice);

    await partner.page.goto(`${suite.berth.url}/console/partner/sessions/${sessionId}`);
    await expectVisible(partner.page.getByRole("region", { name: "Opened by" }).getByRole("cell", { name: "support", exact: true }));
    await expectVisible(partner.page.getByText("session.support"));
  });
});
