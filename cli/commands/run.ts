import { Command, Option } from "commander";
import type { PermissionRule, Run, RunPermissions, Session, StartRun } from "@berth/client";
import { DEFAULT_TEMPLATE } from "@berth/contract";
import { readFileIfExists } from "@berth/server/bounded-io/read-small-file.ts";
import { parseCount, parseDuration, parseTokens } from "../arguments.ts";
import { type GitOptions, readGitSource } from "../installation/git-source.ts";
import { withServer } from "../installation/server-call.ts";
import { followRun } from "../sessions/follow-run.ts";
import { facts, show } from "../terminal/output.ts";

interface Options extends GitOptions {
  session?: string;
  repo?: string;
  setup?: string;
  template: string;
  user: string;
  permissions: "ask" | "allow";
  rulesFile?: string;
  mode?: string;
  model?: string;
  maxTurns?: number;
  maxTokens?: number;
  timeout?: number;
  follow?: boolean;
  json?: boolean;
}

export const command = build();

function build(): Command {
  return new Command()
    .argument("<prompt>", "what the agent shall do")
    .option("--session <id>", "work in this session; without it, in a new one")
    .option("--repo <url>", "start the new session with the files of this repository")
    .option("--ref <name>", "its branch, tag or commit")
    .option("--git-token-file <path>", "a file with a token for it, which never enters the sandbox")
    .option("--setup <command>", "a command that runs before the agent begins")
    .option("--template <name>", "the template of the new session", DEFAULT_TEMPLATE)
    .option("--user <id>", "the user that the new session is for", "me")
    .addOption(new Option("--permissions <answer>", "how its questions are answered").choices(["ask", "allow"]).default("ask"))
    .option("--rules-file <path>", "a JSON file with rules that answer its questions; the rest asks")
    .option("--mode <name>", "one of the agent's modes")
    .option("--model <name>", "one of the agent's models")
    .option("--max-turns <n>", "how many requests it may send to the model", parseCount)
    .option("--max-tokens <n>", "how many tokens it may use", parseTokens)
    .option("--timeout <time>", "interrupt it after this long, such as 30m", parseDuration)
    .option("--follow", "show what it does until it ends, and answer its questions here; Ctrl-C leaves it running")
    .option("--json", "print JSON")
    .action(start);
}

// Like a partner's backend: with BERTH_API_KEY, or with the key of the partner `demo`.
async function start(prompt: string, options: Options): Promise<void> {
  const request = await startRequest(prompt, options);
  await withServer(async ({ sessions }) => {
    const session = options.session === undefined ? await create(request) : await sessions.get(options.session);
    const { prompt: _prompt, ...rest } = request;
    const run = session.run ?? (await session.runs.start(prompt, rest));
    if (options.follow && !options.json) await follow(session, run);
    else print(options, session, run);

    async function create(run: StartRun): Promise<Session> {
      const { template, user: externalUserId, setup, repo } = options;
      const source = repo === undefined ? {} : { source: { git: await readGitSource(repo, options) } };
      return await sessions.create({ externalUserId, template, ...(setup !== undefined && { setup }), ...source, run });
    }
  });
}

async function startRequest(prompt: string, options: Options): Promise<StartRun> {
  const { mode, model, maxTurns, maxTokens, timeout, permissions, rulesFile } = options;
  return {
    prompt,
    permissions: rulesFile === undefined ? permissions : await readRules(rulesFile),
    ...(mode !== undefined && { mode }),
    ...(model !== undefined && { model }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(timeout !== undefined && { timeoutMs: timeout }),
  };
}

// The server checks the rules themselves.
async function readRules(path: string): Promise<RunPermissions> {
  const text = await readFileIfExists(path);
  if (text === undefined) throw new Error(`There is no file ${path}.`);
  try {
    return JSON.parse(text) as PermissionRule[];
  } catch {
    throw new Error(`${path} is not JSON. It must be a list such as [{"tool": "edit", "path": "src/**", "allow": true}].`);
  }
}

function print(options: Options, { sessionId }: Session, { id: runId }: Run): void {
  show(options, { sessionId, runId }, () =>
    facts([
      ["session", sessionId],
      ["run", runId],
    ]),
  );
}

async function follow({ sessionId }: Session, run: Run): Promise<void> {
  process.stderr.write(`Session ${sessionId}, run ${run.id}\n`);
  process.once("SIGINT", () => {
    process.stderr.write(`\nThe run goes on. \`berth session runs ${sessionId}\` lists it.\n`);
    process.exit(130);
  });
  const { status } = await followRun(run);
  process.exitCode = status === "succeeded" ? 0 : 1;
}
