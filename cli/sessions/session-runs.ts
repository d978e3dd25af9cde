import { Command } from "commander";
import type { RunSummary } from "@berth/client";
import { withServer } from "../installation/server-call.ts";
import { clean, orDash, relative, show, table } from "../terminal/output.ts";
import { followRun } from "./follow-run.ts";

// `berth session runs`: what the agent of a session was asked to do, through the running server.
export const runsCommand = (): Command =>
  new Command("runs")
    .description("list the runs of a session, newest first; with the id of a run, follow that")
    .argument("<id>", "id of a session of the partner `demo`, or of the one whose key BERTH_API_KEY is")
    .argument("[run]")
    .option("--json", "print JSON")
    .action(list);

async function list(id: string, runId: string | undefined, options: { json?: boolean }): Promise<void> {
  await withServer(async ({ sessions }) => {
    const { runs } = await sessions.get(id);
    if (runId !== undefined && options.json) return show(options, await runs.get(runId).get(), () => "");
    if (runId !== undefined) return void (process.exitCode = (await followRun(runs.get(runId))).status === "succeeded" ? 0 : 1);
    const found: RunSummary[] = [];
    for await (const run of runs.list({ pageSize: 100 })) found.push(run);
    show(options, found, () =>
      table(
        found,
        [
          { name: "run", value: (run) => run.runId },
          { name: "status", value: (run) => run.status },
          { name: "created", value: ({ createdAt }) => relative(Date.parse(createdAt)) },
          { name: "tokens", value: ({ tokens }) => orDash(tokens && tokens.input + tokens.output), right: true },
          { name: "files", value: ({ fileCount }) => orDash(fileCount), right: true },
          { name: "prompt", value: ({ prompt }) => clean(prompt, 60) },
        ],
        "No runs.",
      ),
    );
  });
}
