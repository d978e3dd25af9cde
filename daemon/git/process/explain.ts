import { AppError, type ErrorCode } from "@berth/contract/errors.ts";

// Turns the messages of a git that failed into an error with a sentence for people.
export function explainFailure({ stdout, stderr }: { stdout: Buffer; stderr: string }): AppError {
  const text = `${stderr}\n${stdout.subarray(0, MAX_READ).toString()}`;
  for (const { when, code, message } of EXPLANATIONS) {
    if (!when.test(text)) continue;
    const said = typeof message === "function" ? message(text) : message;
    return new AppError(code, said === undefined ? {} : { message: said });
  }
  return new AppError("git_failed", { message: lastWords(stderr) || lastWords(stdout.toString()) || "Git failed without a message" });
}

const MAX_READ = 16 * 1024;
const MAX_MESSAGE = 600;
const MAX_NAMES = 5;

interface Explanation {
  when: RegExp;
  code: ErrorCode;
  // Default: the sentence of the code.
  message?: string | ((text: string) => string);
}

const SIGN_IN = "Run the command in a terminal and sign in there, or set up a credential helper (git config credential.helper)";

// The first match counts.
const EXPLANATIONS: Explanation[] = [
  { when: /not a git repository/i, code: "git_no_repository" },
  {
    when: /dubious ownership/,
    code: "git_failed",
    message: "The repository belongs to another user. In a terminal, run: git config --global --add safe.directory '*'",
  },
  { when: /\.lock': File exists|Another git process/, code: "git_locked" },
  { when: /No space left on device|Disk quota exceeded/, code: "disk_full" },
  { when: /Please tell me who you are|empty ident name|auto-detect email address/, code: "git_identity" },
  { when: /nothing to commit|nothing added to commit|no changes added to commit/, code: "git_nothing" },
  {
    when: /untracked working tree files? would be/,
    code: "git_blocked",
    message: (text) => `New files are in the way: ${namedFiles(text)}. Commit, move or delete them first`,
  },
  {
    when: /would be overwritten by|commit your changes or stash/i,
    code: "git_blocked",
    message: (text) => `Your changes in ${namedFiles(text)} would be lost. Commit or discard them first`,
  },
  {
    when: /resolve your current index|you have unmerged|unmerged files|is unmerged|not concluded your merge|path is unmerged/i,
    code: "git_conflict",
    message: "Files have conflicts. Resolve them and commit, or abort the merge",
  },
  { when: /CONFLICT \(|Automatic merge failed|could not apply/, code: "git_conflict" },
  { when: /Need to specify how to reconcile|Not possible to fast-forward/, code: "git_diverged" },
  {
    when: /Host key verification failed/,
    code: "git_authentication",
    message: "The host key of the remote is not known here. Connect to it once in a terminal and accept the key",
  },
  {
    when: /could not read (Username|Password)|Authentication failed|terminal prompts disabled|Permission denied \(|Access denied|error: 40[13]/i,
    code: "git_authentication",
    message: `The remote did not accept the sign-in of this sandbox. ${SIGN_IN}`,
  },
  {
    when: /\[remote rejected\]/,
    code: "git_failed",
    message: (text) => `The remote refused the push: ${/\[remote rejected\].*\((.+)\)/.exec(text)?.[1] ?? "it gave no reason"}`,
  },
  { when: /\[rejected\]|non-fast-forward|fetch first/, code: "git_rejected" },
  {
    when: /has no upstream branch|no tracking information|No configured push destination|no such remote/i,
    code: "git_no_remote",
    message: "This branch has no remote branch yet. Publish it first",
  },
  {
    when: /Could not resolve (host|proxy|hostname)|Failed to connect|Connection (refused|timed out|reset)|unable to access|CONNECT tunnel failed/i,
    code: "git_failed",
    message: (text) => `The remote cannot be reached. ${lastWords(text)}`,
  },
  { when: /a branch named .* already exists/, code: "exists", message: "A branch with this name already exists" },
  { when: /not a valid branch name|is not a valid/i, code: "bad_request", message: "This is not a valid name for a branch" },
  { when: /invalid reference|did not match any/i, code: "not_found", message: "Git does not know this name. Refresh and try again" },
];

// Git lists files on lines that start with a tab.
function namedFiles(text: string): string {
  const names = [...text.matchAll(/^\t(.+)$/gm)].map(([, name]) => name ?? "");
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
  return names.length === 0 ? "some files" : names.slice(0, MAX_NAMES).join(", ") + more;
}

function lastWords(text: string): string {
  const lines = text
    // Progress overwrites itself.
    .split(/[\r\n]+/)
    .filter((line) => line.trim() !== "" && !line.startsWith("hint:"))
    .map((line) => line.replace(/^(fatal|error|warning|remote): /, "").replaceAll(/\/\/[^/@\s]+@/g, "//"));
  return lines.slice(-6).join("\n").trim().slice(-MAX_MESSAGE);
}
