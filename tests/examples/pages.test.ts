import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createBerth, type Berth as Client, type Session } from "../../client/index.ts";
import { describeInBrowser } from "../support/browser/browser-suite.ts";
import { seriousFaults } from "../support/browser/axe.ts";
import { eventually, newWorkspacePage } from "../support/browser/workspace.ts";
import { runCliHere } from "../support/servers/cli.ts";
import { examples, startExample, type ExampleApp } from "./example-app.ts";
import { nextAppSettings, walkThroughNextApp } from "./next-journey.ts";

// The example's own class has 30 students. With fewer, the same happens in less time; BERTH_TEST_STUDENTS=30 is the long form.
const STUDENTS = Number(process.env["BERTH_TEST_STUDENTS"] ?? 8);
// Thirty sandboxes take their time on a busy machine.
const LONG = { timeout: 300_000 };

// The examples with pages, used as their READMEs say, on one server. tests/browser/embed.test.ts uses the partner app.
describeInBrowser(
  "the example",
  (suite) => {
    const apps = new AsyncDisposableStack();
    let client: Client;
    let classroom: ExampleApp;
    let interview: ExampleApp;

    beforeAll(async () => {
      client = createBerth({ baseUrl: suite.berth.url, apiKey: suite.berth.key });
      classroom = apps.use(
        await startExample(suite.berth, "classroom/server.ts", {
          settings: () => ({ CLASS_SECRET: "a-secret", CLASS_SIZE: String(STUDENTS) }),
        }),
      );
      interview = apps.use(await startExample(suite.berth, "interview/server.ts"));
      await updatePartner("--origin", classroom.url, "--origin", interview.url);
    });
    afterEach(async () => void (await Promise.all((await liveSessions(client)).map((session) => session.destroy()))));
    afterAll(() => apps.disposeAsync());

    const updatePartner = async (...flags: string[]) =>
      expect(await runCliHere(suite.berth, "partner", "update", "demo", ...flags)).toMatchObject({ code: 0, stderr: "" });

    test("classroom gives every student a session of one template, and lets the teacher watch, pause and collect", LONG, async () => {
      const teacher = await newWorkspacePage(suite.browser);
      await teacher.goto(classroom.greeting);
      const links = await teacher.evaluate<string[]>("[...document.querySelectorAll('td:first-child a')].map(({ href }) => href)");
      expect(links).toHaveLength(STUDENTS);

      // One place less than students, so one of them has to wait for the operator.
      await updatePartner("--max-sessions", String(STUDENTS - 1));
      const open = async (link: string) => (await fetch(`${link}/workspace`, { redirect: "manual" })).status;
      const statuses = await Promise.all(links.map(open));
      expect(statuses.toSorted((a, b) => a - b)).toEqual([...Array<number>(STUDENTS - 1).fill(303), 503]);
      await updatePartner("--max-sessions", String(STUDENTS + 1));
      await eventually(() => open(links[statuses.indexOf(503)]!)).toBe(303);
      const sessions = await liveSessions(client);
      expect(sessions).toHaveLength(STUDENTS);
      for (const each of sessions) expect(each).toMatchObject({ template: "classroom", idleTimeoutMs: 600_000 });

      const student = await newWorkspacePage(suite.browser);
      await student.goto(links[0]!);
      await typeInFrame(student, "hello.sh", "# by student 1\n");
      const first = sessions.find(({ externalUserId }) => externalUserId === "student-01")!;
      await eventually(() => first.files.readText("hello.sh")).toContain("# by student 1");
      await student.getByRole("button", { name: "Hand in" }).click();
      await student.getByText("Your work is handed in.").waitFor();
      await first.files.write("hello.sh", "later\n");

      await teacher.reload();
      await teacher.getByText(`${STUDENTS} of ${STUDENTS} active`).waitFor();
      expect(await seriousFaults(teacher)).toEqual([]);
      const review = await teacher.getByRole("link", { name: "review" }).getAttribute("href");
      const watching = await fetch(`${classroom.greeting}/watch/student-01`, { redirect: "manual" });
      expect((await fetch(watching.headers.get("location")!)).url).toContain(first.sandboxId);
      await teacher.getByRole("button", { name: "Pause all" }).click();
      await teacher.getByText(`0 of ${STUDENTS} active`).waitFor();
      await student.reload();
      await frameOf(student).getByText("The lesson is paused.").waitFor();
      expect((await liveSessions(client)).map(({ status }) => status)).toEqual(Array(STUDENTS).fill("paused"));

      await teacher.getByRole("button", { name: "Collect all" }).click();
      await eventually(() => teacher.getByRole("link", { name: "review" }).count()).toBe(STUDENTS);
      await teacher.goto(`${classroom.url}${review}`);
      await teacher.getByRole("button", { name: "Go to file" }).first().waitFor();
      const copy = (await liveSessions(client)).find(({ externalUserId }) => externalUserId === "teacher")!;
      expect(await copy.files.readText("hello.sh")).toContain("# by student 1");
      for (const page of [teacher, student]) await page.context().close();
      await updatePartner("--max-sessions", "none");
    });

    test("interview shows the candidate's work to an interviewer who cannot change it, and keeps the result", async () => {
      const interviewer = await newWorkspacePage(suite.browser);
      await interviewer.goto(interview.url);
      await interviewer.getByLabel("Candidate").fill("Grace <b>");
      expect(await seriousFaults(interviewer)).toEqual([]);
      await interviewer.getByRole("button", { name: "Create the links" }).click();
      const link = await interviewer.getByLabel("Send this link to the candidate").inputValue();
      const candidate = await newWorkspacePage(suite.browser);
      await candidate.goto(link);
      await candidate.getByRole("heading", { name: "Welcome, Grace <b>" }).waitFor();
      await candidate.getByRole("button", { name: "Begin" }).click();
      await typeInFrame(candidate, "TASK.md", "my answer\n");

      await frameOf(interviewer).getByText("my answer").waitFor();
      await frameOf(interviewer).getByText("View only").waitFor();
      // In a narrower frame, the bar of the workspace still shows both.
      await interviewer.setViewportSize({ width: 1000, height: 700 });
      const gap = async () => {
        const boxOf = (name: string) => frameOf(interviewer).locator(`.top-bar ${name}`).first().boundingBox();
        const [search, viewOnly] = [await boxOf(".go"), await boxOf(".chip")];
        return viewOnly!.x - search!.x - search!.width;
      };
      await eventually(gap).toBeGreaterThanOrEqual(0);
      await interviewer.getByText(/^4\d min left$/).waitFor();
      const [session] = await liveSessions(client);
      await eventually(() => session!.files.readText("TASK.md")).toContain("my answer");
      // The candidate's link neither ends the interview nor opens the result.
      await fetch(`${link}/end`, { method: "POST" });
      expect(await (await fetch(`${link}/phase`)).json()).toMatchObject({ name: "running" });
      expect((await fetch(`${link}/result`)).status).toBe(404);

      await interviewer.getByRole("button", { name: "End now" }).click();
      await candidate.getByRole("heading", { name: "The interview is over" }).waitFor();
      expect((await fetch(`${link}/workspace`)).status).toBe(409);
      expect((await session!.refresh()).status).toBe("destroyed");
      await interviewer.getByRole("button", { name: "Open the result" }).click();
      await interviewer.getByRole("button", { name: "Go to file" }).first().waitFor();
      const [copy] = await liveSessions(client);
      expect(await copy!.files.readText("TASK.md")).toContain("my answer");
      for (const page of [interviewer, candidate]) await page.context().close();
    });

    test("interview ends by itself when Berth pauses the session", async () => {
      const body = new URLSearchParams({ candidate: "Ada", minutes: "5" });
      const { url } = await fetch(`${interview.url}/interviews`, { method: "POST", body });
      const candidateCode = /"\/([0-9a-f]{32})"<\/script>/.exec(await (await fetch(url)).text())![1];
      const begin = () => fetch(`${interview.url}/${candidateCode}/start`, { method: "POST" });
      await Promise.all([begin(), begin()]);
      const [session, ...others] = await liveSessions(client);
      expect(others).toEqual([]);
      expect(Date.parse(session!.expiresAt!) - Date.parse(session!.createdAt)).toBeLessThan(10 * 60_000);
      expect(await (await fetch(`${url}/phase`)).json()).toMatchObject({ name: "running", minutesLeft: 5 });
      await session!.pause();
      expect(await (await fetch(`${url}/phase`)).json()).toMatchObject({ name: "over" });
      const [snapshot] = (await client.snapshots.list().page()).data;
      expect(snapshot).toMatchObject({ name: "Interview of Ada", sessionId: session!.sessionId });
    });

    test("next-app signs people in, opens and resumes their session, and verifies webhooks (its routes, without Next.js)", async () => {
      const settings = (appUrl: string) => nextAppSettings({ appUrl, server: suite.berth });
      await using app = await startExample(suite.berth, "../tests/examples/serve-routes.ts", { settings });
      expect(app.greeting.split(" ").length).toBeGreaterThan(4);
      await walkThroughNextApp({ appUrl: app.url, server: suite.berth });
      const delivered = async () => {
        const [webhook] = (await client.webhooks.list()).values();
        return (await client.webhooks.deliveries(webhook!.id).page()).data.map(({ state }) => state);
      };
      await eventually(delivered).toEqual(["delivered", "delivered", "delivered"]);
    });
  },
  { settings: async () => ({ BERTH_TEMPLATES: join(examples, "classroom/templates.yaml"), BERTH_WEBHOOK_ALLOW_PRIVATE: "1" }) },
);

const frameOf = (page: Page) => page.frameLocator("iframe");

async function typeInFrame(page: Page, file: string, text: string): Promise<void> {
  await frameOf(page).getByLabel(`Text of ${file}`).click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type(text);
}

async function liveSessions(client: Client): Promise<Session[]> {
  const found: Session[] = [];
  for await (const session of client.sessions.list()) if (session.status !== "destroyed") found.push(session);
  return found;
}
