import type { SetupRepository } from "@berth/contract/daemon-internal.ts";
import { GitFailure, GitMissing, UnknownRef } from "./git-errors.ts";

const MAX_LENGTH = 300;

// The reason why a repository could not be fetched, as one or two sentences for people.
export function explainGit(error: unknown, { url, ref, hasCredential }: SetupRepository): string {
  if (error instanceof GitMissing) return "git is not installed in this sandbox.";
  if (error instanceof UnknownRef) return `The repository has no branch or tag "${ref}".`;
  if (!(error instanceof GitFailure)) return `The folder cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  const text = error.message;
  const { host } = new URL(url);
  // The server says itself why its relay refused a request.
  const refused = /^remote: berth: (.+)$/m.exec(text)?.[1];
  if (refused) return refused.slice(0, MAX_LENGTH);
  const found = EXPLANATIONS.find(({ when }) => when.test(text));
  if (found) return found.say({ host, hasCredential });
  return `git failed: ${lastLine(text)}`;
}

// Whether another try may succeed: the connection ended before a response, or in the middle of one.
export const isLostConnection = (error: unknown): boolean =>
  error instanceof GitFailure && /Empty reply|Connection reset|Recv failure|unexpected disconnect|early EOF|RPC failed/.test(error.message);

interface Explanation {
  when: RegExp;
  say(repository: { host: string; hasCredential: boolean }): string;
}

// The first match counts.
const EXPLANATIONS: Explanation[] = [
  { when: /No space left on device|Disk quota exceeded/, say: () => "The disk of the sandbox is full." },
  {
    when: /CONNECT tunnel failed, response 403|Received HTTP code 403 from proxy/,
    say: ({ host }) => `The network policy of this sandbox does not allow ${host}.`,
  },
  {
    when: /could not read Username|Authentication failed|terminal prompts disabled|error: 40[13]/,
    say: ({ hasCredential }) =>
      hasCredential ? "The git server did not accept the token." : "The repository does not exist, or it needs a token.",
  },
  { when: /not found|error: 404/i, say: () => "The repository does not exist, or the token does not allow reading it." },
  {
    when: /Could not resolve|Failed to connect|Connection (refused|timed out|reset)|tunnel failed|error: 50\d|Empty reply/i,
    say: ({ host }) => `${host} does not answer.`,
  },
  {
    when: /untracked working tree files would be overwritten/,
    say: () => "The folder has files with the names of files in the repository. Move or delete them, then try again.",
  },
  {
    when: /not our ref|unadvertised object|couldn't find remote ref|pathspec .* did not match|unable to read tree/,
    say: () => "The repository does not have this commit.",
  },
];

function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== "");
  return (lines.at(-1) ?? "it gave no reason").replace(/^(fatal|error): /, "").slice(0, MAX_LENGTH);
}
