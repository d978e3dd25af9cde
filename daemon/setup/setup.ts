import { join } from "node:path";
import type { SetupImage, SetupReport, SetupRequest } from "@berth/contract/daemon-internal.ts";
import type { WorkspaceFolder } from "../files/workspace-folder.ts";
import { readJson } from "../http/body.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import type { Terminals } from "../terminals/terminals.ts";
import { buildRoutes } from "./build-routes.ts";
import type { SetupFiles } from "./setup-files.ts";

export interface SetupDeps {
  terminals: Pick<Terminals, "create" | "remove" | "list">;
  workspace: Pick<WorkspaceFolder, "root">;
  files: SetupFiles;
}

export const SETUP_TITLE = "Setup";
const LOOK_EVERY_MS = 100;
const MAX_WAIT_MS = 15_000;

export interface Setup {
  routes: Route[];
  // Runs the repository's commands for a start, if the sandbox was set up by an earlier daemon: its processes are gone.
  onSessionStart(): Promise<void>;
}

// Runs the setup of a session in a terminal, so that people see its output and can interrupt it.
export function createSetup({ terminals, workspace, files }: SetupDeps): Setup {
  // The attempt that this daemon works on. null after a restart, which ended every program.
  let current: { attempt: number; terminalId: string } | null = null;

  // A daemon starts its session again when the agent may start, and when it is thawed.
  let hasStarted = false;

  const routes: Route[] = [
    {
      method: "POST",
      path: "/internal/setup",
      async handle({ request, response }) {
        await begin(parseRequest(await readJson(request)));
        sendJson(response, 202, { status: "ok" });
      },
    },
    {
      method: "GET",
      path: "/internal/setup",
      async handle({ query, response }) {
        const seen = query.get("seen");
        const endMs = Date.now() + MAX_WAIT_MS;
        let found = report();
        while (found.status === seen && Date.now() < endMs && !response.destroyed) {
          await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
          found = report();
        }
        sendJson(response, 200, found);
      },
    },
    ...buildRoutes(files),
  ];
  return { routes, onSessionStart };

  async function onSessionStart(): Promise<void> {
    const plan = hasStarted ? null : files.readPlan();
    hasStarted = true;
    if (!plan || current || files.readReport(plan.attempt)?.status !== "done" || !files.readStart()) return;
    files.writePlan({ ...plan, terminalId: await openTerminal(plan.terminalId, "start") });
  }

  // Replaces the terminal of the run before.
  async function openTerminal(before: string | null | undefined, ...args: string[]): Promise<string> {
    if (before) terminals.remove(before);
    const command = [process.execPath, join(import.meta.dirname, "run-setup.cjs"), files.folder, ...args];
    return (await terminals.create({ title: SETUP_TITLE, command })).id;
  }

  async function begin(request: SetupRequest): Promise<void> {
    const { attempt } = request;
    const last = files.readReport(attempt);
    const before = files.readPlan()?.terminalId;
    // The report of an earlier daemon is given once more, because the server may not have received it.
    if (hasEnded(last)) return void (current = { attempt, terminalId: before ?? "" });
    // After a request for another image, the server begins again, whether or not the sandbox has that image now.
    if (current?.attempt === attempt && last?.status !== "image") return;
    const plan = { ...request, workspace: workspace.root, terminalId: null };
    files.writePlan(plan);
    // Replaces what an earlier run of this attempt has reported, before the sandbox was started again.
    files.writeReport(attempt, { status: request.left, reason: null, exitCode: null });
    const id = await openTerminal(before);
    current = { attempt, terminalId: id };
    files.writePlan({ ...plan, terminalId: id });
  }

  function report(): SetupReport {
    if (!current) throw notFound("No setup has begun");
    const { attempt, terminalId } = current;
    const found = files.readReport(attempt) ?? { status: "source", reason: null, exitCode: null };
    const terminal = terminals.list().find(({ id }) => id === terminalId);
    if (hasEnded(found) || (terminal && terminal.exit === null)) return found;
    // The program may have written its last report a moment ago.
    const last = files.readReport(attempt) ?? found;
    // A build goes on without the terminal, and the sandbox starts again in its image.
    return last.status === "build" && !files.readBuildEnd() ? last : endedEarly(last);
  }
}

// The program in the terminal has ended without a report of its end, for example because a person closed the terminal.
function endedEarly(last: SetupReport): SetupReport {
  if (hasEnded(last) || last.status === "image") return last;
  if (last.status === "command" || last.status === "build") return { status: "done", reason: null, exitCode: INTERRUPTED };
  return { status: "failed", reason: "The Setup terminal was closed before the repository was there.", exitCode: null };
}

// The exit code of a shell that was interrupted.
const INTERRUPTED = 130;

const hasEnded = (report: SetupReport | null) => report?.status === "done" || report?.status === "failed";

// The defaults are for older servers.
const NO_BUILDS = "this server cannot build images.";
const NO_IMAGE: SetupImage = { allowed: null, used: null, failed: null, reason: null };

// The server has checked the rest.
function parseRequest(body: Record<string, unknown>): SetupRequest {
  const { attempt, left, git, command, defaultCommand, image = NO_IMAGE, noBuilds = NO_BUILDS } = body;
  if (typeof attempt !== "number" || typeof git !== "object" || git === undefined) throw badRequest("The setup is malformed");
  return { attempt, left, git, command, defaultCommand, image, noBuilds } as SetupRequest;
}
