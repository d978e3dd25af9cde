import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { createBerth } from "../../client/index.ts";
import { examples, startExample } from "../../tests/examples/example-app.ts";
import { startBerth } from "../../tests/support/servers/berth.ts";
import { runCliForJson } from "../../tests/support/servers/cli.ts";

const VIEW = { viewport: { width: 1280, height: 720 }, deviceScaleFactor: 1.5 };
const LESSON = "# Lesson 1\n\nSay hello to the world, in a language that you like.\n";

// The pictures of the examples with pages. `npm run examples:next -- --picture` takes that of examples/next-app.
export async function takeExamplePictures(browser: Browser, folder: string): Promise<void> {
  await using berth = await startBerth({ BERTH_TEMPLATES: join(examples, "classroom/templates.yaml") });
  await using shop = await startExample(berth, "partner-app/server.ts");
  await using classroom = await startExample(berth, "classroom/server.ts", { settings: () => ({ CLASS_SECRET: "a-secret" }) });
  await using interview = await startExample(berth, "interview/server.ts");
  const origins = [shop, classroom, interview].flatMap(({ url }) => ["--origin", url]);
  await runCliForJson(berth, "partner", "update", "demo", "--name", "Acme Academy", ...origins);
  const client = createBerth({ baseUrl: berth.url, apiKey: berth.key });

  const lesson = await browser.newPage(VIEW);
  await (await client.sessions.forUser("ada", { autoStartAgent: false })).files.write("lesson.md", LESSON);
  await signIn(lesson, shop.url);
  await openInFrame(lesson, "lesson.md");
  await take(lesson, "example-partner-app");

  const teacher = await browser.newPage({ ...VIEW, viewport: { width: 900, height: 600 } });
  await teacher.goto(classroom.greeting);
  const links = await teacher.evaluate<string[]>("[...document.querySelectorAll('td:first-child a')].map(({ href }) => href)");
  for (const link of links.slice(0, 9)) await fetch(`${link}/workspace`, { redirect: "manual" });
  for (const link of links.slice(1, 4)) await fetch(`${link}/hand-in`, { method: "POST" });
  for await (const session of client.sessions.list({ metadata: { class: "shell-1" } }))
    if (session.externalUserId === "student-06") await session.pause();
  await teacher.reload();
  await take(teacher, "example-classroom");

  const [interviewer, candidate] = [await browser.newPage(VIEW), await browser.newPage(VIEW)];
  await interviewer.goto(interview.url);
  await interviewer.getByLabel("Candidate").fill("Grace");
  await interviewer.getByRole("button").click();
  await candidate.goto(await interviewer.getByLabel("Send this link").inputValue());
  await candidate.getByRole("button", { name: "Begin" }).click();
  await candidate.frameLocator("iframe").getByLabel("Text of TASK.md").click();
  await candidate.keyboard.press("Control+End");
  await candidate.keyboard.type("\nI would split the text at spaces and keep the longest part.");
  await interviewer.frameLocator("iframe").getByText("keep the longest part").waitFor();
  await interviewer.getByText("min left").first().waitFor();
  await take(interviewer, "example-interview");

  async function take(page: Page, name: string): Promise<void> {
    await page.waitForTimeout(600);
    await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled", caret: "hide" });
    console.log(`docs/images/${name}.png`);
  }
}

export async function signIn(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel("Name").fill("ada");
  await page.getByLabel("Password").fill("engine");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("iframe").waitFor();
}

export async function openInFrame(page: Page, file: string): Promise<void> {
  await page.frameLocator("iframe").getByRole("treeitem", { name: file, exact: true }).dblclick();
  await page.frameLocator("iframe").getByLabel(`Text of ${file}`).waitFor();
}
