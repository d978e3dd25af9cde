// A coding interview: a link for the candidate, a view-only link for the interviewer, a time limit, and the result as a snapshot.
import { randomBytes } from "node:crypto";
import { createBerth, type Session } from "@berth/client";
import express, { type Response } from "express";
import { candidatePage, interviewerPage, newInterviewPage } from "./pages.ts";

export interface Interview {
  candidate: string;
  minutes: number;
  // Parts of the two links. A link is enough to get its role.
  candidateCode: string;
  watchCode: string;
  session?: Session;
  // The id of the snapshot, as soon as the end has begun.
  result?: Promise<string>;
}

const { BERTH_URL = "http://localhost:8080", BERTH_API_KEY = "", PORT = "3000" } = process.env;
const berth = createBerth({ baseUrl: BERTH_URL, apiKey: BERTH_API_KEY });
const TASK = "# Your task\n\nWrite a function that returns the longest word of a text. Think aloud.\n";
// Stands for your database.
const interviews = new Map<string, Interview>();

const app = express();
app.get("/", (_request, response) => void response.send(newInterviewPage()));

// In your product, only people who are signed in come here.
app.post("/interviews", express.urlencoded(), (request, response) => {
  const { candidate, minutes } = request.body as Record<string, string | undefined>;
  const [candidateCode, watchCode] = [1, 2].map(() => randomBytes(16).toString("hex")) as [string, string];
  const interview = { candidate: candidate?.slice(0, 64) || "Candidate", minutes: Number(minutes) || 45, candidateCode, watchCode };
  for (const each of [candidateCode, watchCode]) interviews.set(each, interview);
  response.redirect(303, `/${watchCode}`);
});

app.param("code", (_request, response, next, given: string) => {
  const interview = interviews.get(given);
  if (!interview) return response.status(404).send("This link is not valid.");
  response.locals = { interview, isCandidate: given === interview.candidateCode };
  return next();
});

app.get("/:code", async (_request, response) => {
  const { interview, isCandidate } = localsOf(response);
  const phase = await phaseOf(interview);
  response.send(isCandidate ? candidatePage(interview, phase) : interviewerPage(interview, phase));
});

// Both pages ask for this every few seconds, and load again when the phase changes.
app.get("/:code/phase", async (_request, response) => void response.json(await phaseOf(localsOf(response).interview)));

// The time begins when the candidate does. Two clicks get the same session.
app.post("/:code/start", async (request, response) => {
  const { interview, isCandidate } = localsOf(response);
  if (isCandidate && !interview.session) {
    const settings = { timeoutMs: interview.minutes * 60_000, autoStartAgent: false };
    const session = await berth.sessions.forUser(interview.candidateCode, settings);
    if (!(await session.files.exists("TASK.md"))) await session.files.write("TASK.md", TASK);
    interview.session ??= await session.refresh();
  }
  response.redirect(303, `/${request.params.code}`);
});

// The interviewer sees every key, and can change nothing.
app.get("/:code/workspace", async (_request, response) => {
  const { interview, isCandidate } = localsOf(response);
  if ((await phaseOf(interview)).name !== "running") return response.status(409).send("There is no interview now.");
  const person = isCandidate ? { displayName: interview.candidate } : { role: "viewer" as const, displayName: "Interviewer" };
  const { url } = await interview.session!.launchUrl(person);
  return response.set("cache-control", "no-store").redirect(303, url);
});

app.post("/:code/end", async (request, response) => {
  const { interview, isCandidate } = localsOf(response);
  if (!isCandidate && interview.session) await end(interview);
  response.redirect(303, `/${request.params.code}`);
});

// The interviewer runs a copy of the files as they were at the end.
app.get("/:code/result", async (_request, response) => {
  const { interview, isCandidate } = localsOf(response);
  if (isCandidate || !interview.result) return response.sendStatus(404);
  const source = { snapshotId: await interview.result };
  const copy = await berth.sessions.create({ externalUserId: interview.watchCode, source, timeoutMs: 60 * 60_000, onTimeout: "destroy" });
  return response.redirect(303, (await copy.launchUrl()).url);
});

app.listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));

const localsOf = (response: Response) => response.locals as { interview: Interview; isCandidate: boolean };

export type Phase = { name: "waiting" | "running" | "over"; minutesLeft: number | null };

// Berth itself pauses the session when the time is over, also if this server does not run then.
async function phaseOf(interview: Interview): Promise<Phase> {
  if (!interview.session) return { name: "waiting", minutesLeft: null };
  if (!interview.result && (await interview.session.refresh()).status !== "running") await end(interview);
  if (interview.result) return { name: "over", minutesLeft: null };
  return { name: "running", minutesLeft: Math.ceil((Date.parse(interview.session.expiresAt!) - Date.now()) / 60_000) };
}

// Runs once, for the first request. After a failure, the next request tries again.
function end(interview: Interview): Promise<string> {
  return (interview.result ??= saveResult(interview).catch((error: unknown) => {
    interview.result = undefined;
    throw error;
  }));
}

async function saveResult({ session, candidate }: Interview): Promise<string> {
  if ((await session!.refresh()).status === "running") await session!.pause();
  const { id } = await session!.snapshot({ name: `Interview of ${candidate}` });
  await session!.destroy();
  return id;
}
