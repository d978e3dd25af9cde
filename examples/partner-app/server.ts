// A small product that embeds Berth: people sign in, and each has one coding session, shown in a frame of the product's page.
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createBerth, verifyWebhook } from "@berth/client";
import express, { type Request } from "express";

const { BERTH_URL = "http://localhost:8080", BERTH_API_KEY = "", BERTH_WEBHOOK_SECRET = "", PORT = "3000" } = process.env;
const berth = createBerth({ baseUrl: BERTH_URL, apiKey: BERTH_API_KEY });
const html = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");
const pages = { login: html("login.html"), lesson: html("lesson.html") };

// These three stand for your own sign-in and database.
const passwords: Record<string, string> = { ada: "engine", grace: "compiler" };
const signedIn = new Map<string, string>();
const news = new Map<string, string>();

const app = express();

app.get("/", (request, response) => {
  const user = userOf(request);
  if (user === undefined) return response.send(pages.login);
  const words = { user, berth: BERTH_URL, news: news.get(user) ?? "Nothing has happened yet" };
  return response.send(pages.lesson.replace(/\{(user|berth|news)\}/g, (_, name: keyof typeof words) => words[name]));
});

app.post("/login", express.urlencoded(), (request, response) => {
  const { user = "", password } = request.body as { user?: string; password?: string };
  if (password === undefined || passwords[user] !== password) return response.status(403).send(pages.login);
  const token = randomBytes(32).toString("hex");
  signedIn.set(token, user);
  return response.cookie("login", token, { httpOnly: true, sameSite: "lax" }).redirect(303, "/");
});

app.post("/logout", (request, response) => {
  signedIn.delete(cookieOf(request));
  response.clearCookie("login").redirect(303, "/");
});

// The frame points here. A launch URL is a short-lived secret: request it when it is needed, and never put it into a page.
app.get("/workspace", async (request, response) => {
  const user = userOf(request);
  if (user === undefined) return response.redirect(303, "/");
  const session = await berth.sessions.forUser(user, { metadata: { lesson: "hello" } });
  const { url } = await session.launchUrl({ displayName: user });
  return response.set({ "cache-control": "no-store", "referrer-policy": "no-referrer" }).redirect(303, url);
});

// The page asks for this when the user presses Resume in a paused workspace.
app.post("/resume", async (request, response) => {
  const user = userOf(request);
  if (user !== undefined) await berth.sessions.forUser(user);
  response.sendStatus(user === undefined ? 403 : 204);
});

// Berth reports here. The signature covers the bytes as they arrived, so they are not parsed before.
app.post("/hooks/berth", express.raw({ type: "*/*" }), async (request, response) => {
  const event = await verifyWebhook(request.body as Buffer, request.headers, BERTH_WEBHOOK_SECRET).catch(() => null);
  if (!event) return response.sendStatus(401);
  const { externalUserId } = event.data as { externalUserId?: string };
  if (externalUserId !== undefined) news.set(externalUserId, `${event.type} at ${event.timestamp.slice(11, 19)}`);
  return response.sendStatus(204);
});

app.listen(Number(PORT), () => console.log(`http://localhost:${PORT}`));

const cookieOf = (request: Request) => /(?:^|; )login=(\w+)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
const userOf = (request: Request) => signedIn.get(cookieOf(request));
