import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Session } from "@berth/contract";
import { CLIENT, startIdentityProvider, type IdentityProvider } from "../../server/keys/testing/identity-provider.ts";
import { contrastFaults, seriousFaults } from "../support/browser/axe.ts";
import { describeInBrowser, type BrowserSuite } from "../support/browser/browser-suite.ts";
import { follow, insertSessions, openConsole, signIn, tabTo, useSession, type OpenedConsole } from "../support/browser/console.ts";
import { eventually, expectGone, expectVisible } from "../support/browser/workspace.ts";
import { runCliForJson } from "../support/servers/cli.ts";

const HOSTILE = "<img src=x onerror=alert(1)>";

let identity: IdentityProvider;

// A provider at which example.org is allowed.
async function settings(resources: AsyncDisposableStack): Promise<Record<string, string>> {
  identity = resources.use(await startIdentityProvider());
  return {
    BERTH_CONSOLE_OIDC_ISSUER: identity.issuer,
    BERTH_CONSOLE_OIDC_CLIENT_ID: CLIENT.clientId,
    BERTH_CONSOLE_OIDC_CLIENT_SECRET: CLIENT.clientSecret,
    BERTH_CONSOLE_OIDC_ALLOW: "@example.org",
  };
}

describeInBrowser("the console", defineTests, { settings });

function defineTests(suite: BrowserSuite): void {
  let token: string;
  let ada: Session;
  // All tests use one page, because a new one would load and compile the console again.
  let opened: OpenedConsole;
  let page: Page;

  // Shows a page of the console to a person who is not signed in.
  const visit = async (path: string) => {
    await page.context().clearCookies();
    await page.goto(suite.berth.url + path);
  };
  // Shows a page of the console to an operator.
  const visitAsOperator = async (path: string) => {
    await page.goto(suite.berth.url + path);
    const field = page.getByLabel("Operator token");
    await expectVisible(field.or(page.getByRole("navigation", { name: "Pages" })));
    if (await field.isVisible()) await signIn(page, "Operator token", token);
  };

  beforeAll(async () => {
    ({
      token: { token },
    } = await runCliForJson<{ token: { token: string } }>(suite.berth, "console", "token", "--name", "Ada"));
    await runCliForJson(suite.berth, "partner", "create", "other", "--max-sessions", "5");
    const run = { prompt: `Fix the failing test ${HOSTILE}`, permissions: "allow" };
    ada = await suite.berth.api.create({ externalUserId: HOSTILE, metadata: { note: HOSTILE }, autoStartAgent: false, run });
    await useSession(suite, ada);
    opened = await openConsole(suite, "/console");
    page = opened.page;
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  test("an operator signs in, finds a session, pauses and resumes it, and signs out", async () => {
    await visit("/console");
    await page.getByLabel("Operator token").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expectVisible(page.getByRole("alert").getByText("unknown, expired or revoked"));
    await signIn(page, "Operator token", token);
    await expectVisible(page.getByRole("region", { name: "Machine" }));
    expect(await page.evaluate("document.cookie")).toBe("");

    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("searchbox", { name: "Search" }).fill("ONERROR");
    await eventually(() => page.url()).toContain("search=ONERROR");
    const row = page.getByRole("row").filter({ hasText: HOSTILE });
    await expectVisible(row);
    await row.getByRole("link").click();
    await expectVisible(page.getByRole("heading", { name: ada.sessionId }));
    expect(await page.locator("img[src=x]").count()).toBe(0);
    await expectVisible(page.getByLabel("Memory"));

    await page.getByRole("button", { name: "Pause" }).click();
    await expectVisible(page.getByRole("button", { name: "Resume" }));
    expect((await suite.berth.api.call("GET", `/api/b2b/sessions/${ada.sessionId}`)).body).toMatchObject({ status: "paused" });
    await expectVisible(page.getByText("by Ada from").first());
    await page.getByRole("button", { name: "Resume" }).click();
    await expectVisible(page.getByRole("button", { name: "Pause" }));
    await page.getByRole("combobox", { name: "Extend" }).selectOption({ label: "to 24 h from now" });
    await expectVisible(page.getByText(/\(in (23|24) h\)/));

    await page.getByRole("button", { name: "Sign out" }).click();
    await expectVisible(page.getByLabel("Operator token"));
    await page.reload();
    await expectVisible(page.getByLabel("Operator token"));
  });

  test("an operator signs in with the identity provider, and another account sees why it may not", async () => {
    await visit("/console");
    identity.claims = { email: "eve@evil.example", email_verified: true };
    await page.getByRole("link", { name: "Sign in with your organization" }).click();
    await expectVisible(page.getByRole("alert").getByText("This account may not use the console."));
    identity.claims = { email: "grace@example.org", email_verified: true };
    await page.getByRole("link", { name: "Sign in with your organization" }).click();
    await expectVisible(page.getByRole("navigation", { name: "Pages" }));
    await expectVisible(page.getByText("grace@example.org"));
  });

  test("ten thousand sessions are one table that renders only the rows on the screen and works with the keyboard", async () => {
    insertSessions(suite, 10_000);
    await visitAsOperator("/console/sessions?status=all");
    const rows = page.locator(".table-row");
    await expectVisible(rows.first());
    await page.getByRole("grid").focus();
    const rendered: number[] = [];
    while ((await page.getByRole("status").textContent()) !== "10,001") {
      await page.keyboard.press("End");
      rendered.push(await rows.count());
    }
    expect(Math.max(...rendered)).toBeLessThan(100);
    await expectVisible(page.locator('[aria-rowindex="10002"]'));

    await page.keyboard.press("Home");
    await expectVisible(page.locator('[aria-rowindex="2"][aria-selected="true"]'));
    await page.keyboard.press("ArrowDown");
    await expectVisible(page.locator('[aria-rowindex="3"][aria-selected="true"]'));
    // New sessions appear and changed ones are updated without a reload.
    await page.keyboard.press("Home");
    await expectVisible(rows.first().getByText("running"));
    await suite.berth.api.call("POST", `/api/b2b/sessions/${ada.sessionId}/pause`);
    await expectVisible(rows.first().getByText("paused"));
    await page.keyboard.press("Enter");
    await expectVisible(page.getByRole("heading", { name: ada.sessionId }));
    await page.goBack();
    await expectVisible(rows.first());
    expect(page.url()).toContain("status=all");
  });

  test("an operator issues a key that is shown once, and its partner sees only its own data with it", async () => {
    await visitAsOperator("/console/partners/other");
    await expectVisible(page.getByText("of 5, 5 left"));
    await page.getByRole("button", { name: "Issue a key" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Console");
    await page.getByRole("combobox", { name: "Scope" }).selectOption("admin");
    await page.getByRole("button", { name: "Issue", exact: true }).click();
    const key = (await page.locator("output.secret").textContent()) ?? "";
    expect(key).toMatch(/^berth_[0-9a-f]{64}$/);
    await page.getByRole("button", { name: "Done" }).click();
    await expectVisible(page.getByRole("cell", { name: "Console" }));
    expect(await page.content()).not.toContain(key);

    await page.goto(`${suite.berth.url}/console/partner`);
    await signIn(page, "API key", key);
    await expectVisible(page.getByRole("link", { name: "Keys and usage" }));
    expect(await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allTextContents()).toEqual([
      "Overview",
      "Sessions",
      "Runs",
      "Keys and usage",
      "Snapshots",
      "Webhooks",
      "Audit",
    ]);
    await page.getByRole("link", { name: "Sessions" }).click();
    await expectVisible(page.getByText("No session matches."));
    await page.goto(`${suite.berth.url}/console/partner/sessions/${ada.sessionId}`);
    await expectVisible(page.getByRole("alert").getByText("Session not found"));
    await page.getByRole("link", { name: "Keys and usage" }).click();
    await page
      .getByRole("row")
      .filter({ hasText: "Console" })
      .getByRole("button", { name: /^Revoke/ })
      .click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    // The key that this person signed in with has just ended.
    await expectVisible(page.getByLabel("API key"));
  });

  test("an operator changes a partner's limits with the keyboard alone, and a wrong value is named beside its field", async () => {
    await visit("/console");
    await tabTo(page, page.getByLabel("Operator token"));
    await page.keyboard.type(token);
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("link", { name: "Partners" }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("link", { name: "other", exact: true }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("button", { name: "Change limits" }));
    await page.keyboard.press("Enter");
    const limit = page.getByRole("textbox", { name: "Live sessions", exact: true });
    await tabTo(page, limit);
    await page.keyboard.type("many");
    await page.keyboard.press("Enter");
    await expectVisible(page.getByRole("alert").getByText("Allowed: a whole number up to 1000000"));
    expect(await limit.getAttribute("aria-invalid")).toBe("true");
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("7");
    await page.keyboard.press("Enter");
    await expectVisible(page.getByText("of 7, 7 left"));
    await expectGone(page.getByRole("dialog"));

    // The focus is back where it was, and Escape closes a dialog without a change.
    await tabTo(page, page.getByRole("button", { name: "Change origins and branding" }));
    await page.keyboard.press("Enter");
    await tabTo(page, page.getByRole("textbox", { name: "Origins" }));
    await page.keyboard.type("https://a.example");
    await page.keyboard.press("Escape");
    await expectGone(page.getByRole("dialog"));
    await expectGone(page.getByText("https://a.example"));
  });

  test("the form for a template names faults beside their fields and gives the lines for the file", async () => {
    await visitAsOperator("/console/templates");
    await page.getByRole("link", { name: "Write a template" }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("python");
    await page.getByRole("textbox", { name: "Memory in MiB" }).fill("12");
    await page.getByRole("button", { name: "Check" }).click();
    await expectVisible(page.getByRole("alert").getByText("must be >= 64"));
    await page.getByRole("textbox", { name: "Memory in MiB" }).fill("512");
    await page.getByRole("button", { name: "Check" }).click();
    await expectVisible(page.getByRole("region", { name: "The template" }).getByText("memoryMb: 512"));
  });

  test("axe finds no serious violations on any page, light and dark", async () => {
    expect((await suite.berth.api.call("POST", `/api/b2b/sessions/${ada.sessionId}/snapshots`, { name: "before" })).status).toBe(201);
    await visit("/console");
    const found: Record<string, string[]> = {};
    let themes: ["dark" | "light", "dark" | "light"] = ["dark", "light"];
    const look = async (name: string, until: string, part?: string) => {
      await expectVisible(page.locator(until).first());
      // Start with the theme of the previous page.
      themes = [themes[1], themes[0]];
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme });
        await expectVisible(page.locator(`:root[data-theme="${colorScheme}"]`));
        found[`${name} ${colorScheme}`] = await (colorScheme === "light" ? seriousFaults : contrastFaults)(page, part);
      }
    };
    // Opens the dialog, looks at it and closes it.
    const lookAtDialog = async (button: string | RegExp) => {
      await page.getByRole("button", { name: button }).first().click();
      await look(String(button), "dialog[open]", "dialog");
      await page.keyboard.press("Escape");
      await expectGone(page.getByRole("dialog"));
    };
    await look("login", "#secret");
    await signIn(page, "Operator token", token);
    await look("overview", "progress");
    const pages = {
      sessions: ".table-row",
      [`sessions/${ada.sessionId}`]: ".timeline li",
      "partners/other": "td",
      runs: "td",
      snapshots: "td",
      webhooks: ".page",
      templates: "td",
      "templates/new": "textarea",
      health: ".findings li",
      audit: "td",
    };
    for (const [path, until] of Object.entries(pages)) {
      await follow(page, `/console/${path}`);
      await look(path, until);
      if (path.startsWith("sessions/")) await lookAtDialog("Destroy");
      if (path === "snapshots") await lookAtDialog(/^Delete/);
      if (path === "partners/other")
        for (const button of ["Change limits", "Change origins and branding", "Issue a key", /^Revoke/]) await lookAtDialog(button);
    }
    await follow(page, "/console/partner");
    await look("partner login", "#secret");
    await signIn(page, "API key", suite.berth.key);
    await look("partner overview", "progress, .stat");
    for (const [path, until] of Object.entries({ sessions: ".table-row", account: "td", webhooks: ".page", audit: "td" })) {
      await follow(page, `/console/partner/${path}`);
      await look(`partner ${path}`, until);
      if (path === "account") await lookAtDialog("Change origins and branding");
    }
    expect(Object.entries(found).filter(([, faults]) => faults.length > 0)).toEqual([]);
    expect(Object.keys(found)).toHaveLength(48);
  });

  test("a snapshot and a session are deleted after a question", async () => {
    await visitAsOperator("/console/snapshots");
    const row = page.getByRole("row").filter({ hasText: "before" });
    await expectVisible(row.getByText(/^\d+(\.\d)? [kM]B$/));
    await row.getByRole("button", { name: /^Delete snp_/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expectVisible(page.getByText("No snapshots yet. Partners take them over the API."));
    await expectVisible(page.getByText("0 snapshots, 0 B"));

    await page.goto(`${suite.berth.url}/console/sessions/${ada.sessionId}`);
    await expectVisible(page.getByRole("region", { name: "Runs" }).getByText(/^Fix the failing test/));
    const [openings, hosts] = [page.getByRole("region", { name: "Opened by" }), page.getByRole("region", { name: "Egress" })];
    await expectVisible(openings.getByText(/^Chrome \d+ on Linux$/));
    await expectVisible(openings.getByRole("cell", { name: "Ada Lovelace" }));
    await expectVisible(hosts.getByRole("row").filter({ hasText: "192.0.2.7:80" }).getByText("refused"));
    await page.getByRole("button", { name: "Destroy" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Destroy" }).click();
    await expectGone(page.getByRole("button", { name: "Destroy" }));
    await expectVisible(page.getByText("session.destroyed"));
  });
}
