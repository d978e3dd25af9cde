import { Command, Option } from "commander";
import { DEFAULT_TEMPLATE } from "@berth/contract";
import { parseIdleTimeout, type Limit } from "../arguments.ts";
import { type GitOptions, readGitSource } from "../installation/git-source.ts";
import { withServer } from "../installation/server-call.ts";
import { openInBrowser } from "../terminal/browser.ts";
import { facts, show } from "../terminal/output.ts";
import { style } from "../terminal/style.ts";

interface Options extends GitOptions {
  template: string;
  user: string;
  idleTimeout?: Limit;
  autoResume?: boolean;
  git?: string;
  role?: "editor" | "viewer";
  json?: boolean;
}

export const command = build();

function build(): Command {
  return new Command()
    .option("--template <name>", "the template of its sandbox", DEFAULT_TEMPLATE)
    .option("--user <id>", "the user that it is for", "me")
    .option("--idle-timeout <time>", "pause it when it was not used for this long, such as 30m, or `none`", parseIdleTimeout)
    .option("--auto-resume", "resume it when someone opens it while it is paused")
    .option("--git <url>", "start with the files of this repository")
    .option("--ref <name>", "its branch, tag or commit")
    .option("--git-token-file <path>", "a file with a token for it, which never enters the sandbox")
    .addOption(new Option("--role <role>", "what the link lets a person do").choices(["editor", "viewer"]))
    .option("--json", "print JSON")
    .action(open);
}

// Creates a session of the partner `demo` through the running server, like a partner's backend.
async function open(options: Options): Promise<void> {
  const { idleTimeout } = options;
  const request = {
    externalUserId: options.user,
    template: options.template,
    ...(options.autoResume && { autoResume: true }),
    ...(idleTimeout !== undefined && { idleTimeoutMs: idleTimeout === "none" ? null : idleTimeout }),
    ...(options.git !== undefined && { source: { git: await readGitSource(options.git, options) } }),
  };
  await withServer(async ({ sessions }) => {
    const session = await sessions.create(request);
    const { url, expiresAt } = await session.launchUrl(options.role && { role: options.role });
    print(options, { sessionId: session.sessionId, url, expiresAt });
  });
}

function print(options: Options, { sessionId, url, expiresAt }: { sessionId: string; url: string; expiresAt: number }): void {
  const isOpened = options.json ? false : openInBrowser(url);
  const minutes = Math.round((expiresAt - Date.now()) / 60_000);
  const hint = isOpened ? "It opens in your browser." : `Open the link in a browser within ${minutes} minutes.`;
  show(
    options,
    { sessionId, url, expiresAt: new Date(expiresAt).toISOString() },
    () =>
      `${facts([
        ["session", sessionId],
        ["link", style.cyan(url)],
      ])}${hint}\n`,
  );
}
