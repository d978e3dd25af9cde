// A class of 30: every student has a session of one template, and the teacher sees who works, pauses all and collects their work.
import { createHmac } from "node:crypto";
import { createBerth, QuotaError, type Session } from "@berth/client";
import express from "express";
import { lessonPage, overviewPage, textPage, type Row } from "./pages.ts";

const { BERTH_URL = "http://localhost:8080", BERTH_API_KEY = "", CLASS_SECRET = "", CLASS_SIZE = "30", PORT = "3000" } = process.env;
if (!CLASS_SECRET) throw new Error("Set CLASS_SECRET to a long random text. The personal links are made with it.");
const berth = createBerth({ baseUrl: BERTH_URL, apiKey: BERTH_API_KEY });
// Stands for your class list.
const students = Array.from({ length: Number(CLASS_SIZE) }, (_, index) => `student-${String(index + 1).padStart(2, "0")}`);
const codeOf = (name: string) => createHmac("sha256", CLASS_SECRET).update(name).digest("hex").slice(0, 32);
const byCode = new Map(students.map((student) => [codeOf(student), student]));
const lesson = { class: "shell-1" };
const starter = "echo Hello\n";
let isOpen = true;

const app = express();

app.param("code", (_request, response, next, code: string) => {
  if (byCode.has(code)) next();
  else response.status(404).send(textPage("This link is not valid. Ask your teacher for yours."));
});

app.get("/s/:code", ({ params: { code } }, response) => {
  response.send(lessonPage(byCode.get(code)!, { link: `/s/${code}`, berthUrl: BERTH_URL }));
});

app.get("/s/:code/workspace", async (request, response) => {
  if (!isOpen) return response.send(textPage("The lesson is paused. Your files are kept."));
  const session = await berth.sessions
    .forUser(byCode.get(request.params.code)!, { template: "classroom", metadata: lesson, timeoutMs: 2 * 60 * 60_000 })
    .catch((error: unknown) => {
      if (error instanceof QuotaError) return null;
      throw error;
    });
  if (!session) return response.status(503).send(textPage("There is no place left in this class. Tell your teacher."));
  if (!(await session.files.exists("hello.sh"))) await session.files.write("hello.sh", starter);
  return response.set("cache-control", "no-store").redirect(303, (await session.launchUrl()).url);
});

// A hand-in is a snapshot: it does not change when the student goes on.
app.post("/s/:code/hand-in", async (request, response) => {
  const session = (await sessionsOfClass()).get(byCode.get(request.params.code)!);
  await session?.snapshot({ name: "hand-in" });
  response.send(session ? "Your work is handed in." : "Open your workspace first.");
});

const teacher = express.Router();
app.use(`/teacher/${codeOf("teacher")}`, teacher);

teacher.get("/", async (request, response) => {
  const [sessions, handIns, usage] = await Promise.all([sessionsOfClass(), newestHandIns(), berth.usage({ groupBy: ["user"] })]);
  const rows = students.map((student): Row => {
    const session = sessions.get(student);
    const used = usage.data.find(({ externalUserId }) => externalUserId === student);
    return { student, link: `/s/${codeOf(student)}`, session, handIn: session && handIns.get(session.sessionId), used };
  });
  response.send(overviewPage(request.baseUrl, { rows, isOpen }));
});

teacher.post("/:action", async (request, response) => {
  const { action } = request.params;
  if (action === "pause" || action === "continue") isOpen = action === "continue";
  const sessions = [...(await sessionsOfClass()).values()];
  if (action === "pause") await Promise.all(sessions.filter(({ status }) => status === "running").map((session) => session.pause()));
  // One after the other: each copies files.
  if (action === "collect") for (const session of sessions) await session.snapshot({ name: "hand-in" });
  response.redirect(303, request.baseUrl);
});

teacher.get("/watch/:student", async (request, response) => {
  const session = (await sessionsOfClass()).get(request.params.student);
  if (!session) return response.status(404).send(textPage("This student has not started yet."));
  return response.redirect(303, (await session.launchUrl({ role: "viewer", displayName: "Teacher" })).url);
});

// The teacher runs and marks a copy. It ends by itself.
teacher.get("/review/:snapshotId", async (request, response) => {
  const source = { snapshotId: request.params.snapshotId };
  const review = await berth.sessions.create({ externalUserId: "teacher", source, timeoutMs: 30 * 60_000, onTimeout: "destroy" });
  response.redirect(303, (await review.launchUrl()).url);
});

app.listen(Number(PORT), () => console.log(`http://localhost:${PORT}/teacher/${codeOf("teacher")}`));

async function sessionsOfClass(): Promise<Map<string, Session>> {
  const live = new Map<string, Session>();
  for await (const session of berth.sessions.list({ metadata: lesson }))
    if (session.status !== "destroyed") live.set(session.externalUserId!, session);
  return live;
}

// The list begins with the newest.
async function newestHandIns(): Promise<Map<string, string>> {
  const newest = new Map<string, string>();
  for await (const { sessionId, name, id } of berth.snapshots.list())
    if (name === "hand-in" && !newest.has(sessionId)) newest.set(sessionId, id);
  return newest;
}
