import { expect, test } from "vitest";
import type { GitOutput, GitProcess } from "./process/git-process.ts";
import { readStatus } from "./status.ts";

// A git whose `status` writes these outputs in turn.
function gitWith(outputs: string[]): GitProcess {
  const read: GitProcess["read"] = async (_repository, [command]): Promise<GitOutput> => {
    const stdout = command === "status" ? (outputs.shift() ?? "") : "";
    return { code: 0, stdout: Buffer.from(stdout), stderr: "", truncated: false };
  };
  return { read, write: read };
}

test("an output of git that lacks the branch is read again, and is a failure instead of a detached head", async () => {
  const whole = `# branch.oid ${"a".repeat(40)}\0# branch.head main\0? new.txt\0`;
  expect(await readStatus(gitWith(["", whole]), "")).toMatchObject({ branch: "main", files: [{ path: "new.txt" }] });
  await expect(readStatus(gitWith(["", ""]), "")).rejects.toThrow("Git ended before it had named the branch");
});
