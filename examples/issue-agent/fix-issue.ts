// Lets the coding agent fix an issue, and opens a pull request with the result:
//   node fix-issue.ts acme/shop issue.md
// The first line of the file is the title of the issue.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createBerth, type Session } from "@berth/client";

const {
  BERTH_URL = "http://localhost:8080",
  BERTH_API_KEY = "",
  // Any host with GitHub's API.
  GIT_HOST = "https://github.com",
  GIT_HOST_API = "https://api.github.com",
  GIT_TOKEN = "",
  SETUP_COMMAND,
  TEST_COMMAND = "npm test",
} = process.env;
const [repository, issueFile] = process.argv.slice(2);
if (!repository || !issueFile) throw new Error("Usage: node fix-issue.ts {owner}/{repository} {file with the issue}");
const issue = readFileSync(issueFile, "utf8").trim();
const [title = ""] = issue.split("\n");
const branch = `fix/${createHash("sha256").update(issue).digest("hex").slice(0, 12)}`;

const berth = createBerth({ baseUrl: BERTH_URL, apiKey: BERTH_API_KEY });
const session = await berth.sessions.create(
  {
    externalUserId: "issue-agent",
    // The token stays in the server, which adds it to git's requests for this repository.
    source: { git: { url: `${GIT_HOST}/${repository}.git`, token: GIT_TOKEN } },
    ...(SETUP_COMMAND && { setup: SETUP_COMMAND }),
    timeoutMs: 2 * 60 * 60_000,
    onTimeout: "destroy",
  },
  { wait: "source" },
);
try {
  const { source } = await session.refresh();
  if (source?.status !== "ready") throw new Error(`The repository could not be fetched: ${source?.reason}`);
  const summary = await letAgentWork(session);
  const passes = (await session.exec(TEST_COMMAND, { timeoutMs: 20 * 60_000 })).exitCode === 0;
  const base = await pushBranch(session);
  const tests = `\`${TEST_COMMAND}\` ${passes ? "passes" : "**fails**"}.`;
  console.log(await openPullRequest({ title, head: branch, base, body: `${summary}\n\n${tests}`, draft: !passes }));
} finally {
  await session.destroy();
}

// No person is there to answer questions, so the rules allow what the task needs, and the last one refuses the rest.
async function letAgentWork({ runs }: Session): Promise<string> {
  const run = await runs.start(`Fix this issue:\n\n${issue}\n\nCheck with \`${TEST_COMMAND}\`. Do not commit.`, {
    permissions: [
      { tool: "read", allow: true },
      { tool: "search", allow: true },
      { tool: "edit", allow: true },
      { tool: "shell", command: `${TEST_COMMAND}*`, allow: true },
      { tool: "*", allow: false },
    ],
    timeoutMs: 60 * 60_000,
  });
  for await (const event of run.follow()) if (event.type === "run") console.log(`The agent: ${event.run.status}`);
  const { status, message, text, files } = await run.get();
  if (status !== "succeeded") throw new Error(`The agent has not finished: ${status} ${message ?? ""}`);
  for (const { path, kind } of files) console.log(`${kind} ${path}`);
  if (files.length === 0) throw new Error(`The agent has changed nothing. It says: ${text}`);
  return text;
}

// Commits in the sandbox and pushes through the relay. Returns the branch from which the session started.
async function pushBranch(from: Session): Promise<string> {
  const base = await git(from, "rev-parse", "--abbrev-ref", "HEAD");
  await git(from, "switch", "--quiet", "--create", branch);
  await git(from, "add", "--all");
  await git(from, "-c", "user.name=Issue agent", "-c", "user.email=agent@example.com", "commit", "--quiet", "--message", title);
  await git(from, "push", "--quiet", "origin", branch);
  return base;
}

async function git({ exec }: Session, ...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await exec(["git", ...args]);
  if (exitCode !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
  return stdout.trim();
}

async function openPullRequest(request: object): Promise<string> {
  const response = await fetch(`${GIT_HOST_API}/repos/${repository}/pulls`, {
    method: "POST",
    headers: { authorization: `Bearer ${GIT_TOKEN}`, accept: "application/vnd.github+json", "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  if (response.status !== 201) throw new Error(`The pull request was refused: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { html_url: string }).html_url;
}
