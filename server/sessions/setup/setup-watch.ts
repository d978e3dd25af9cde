import { isAppError, type SessionId } from "@berth/contract";
import type { SetupReport, SetupRequest } from "@berth/contract/daemon-internal.ts";
import type { Clock } from "../../clock.ts";
import { failpoint } from "../../faults/failpoints.ts";
import type { Log } from "../../log.ts";
import type { Store } from "../../store/open.ts";
import { findSession } from "../../store/sessions/read.ts";
import type { SessionSetup } from "../../store/sessions/session-setup.ts";
import { isAtSite, isPartnerSession, type Site, type PartnerSession } from "../../store/sessions/session.ts";
import { sessionsToSetUp, type RunningSession } from "../../store/sessions/due.ts";
import type { SessionView } from "../../store/sessions/listing/view.ts";
import type { SessionChanges } from "../../store/sessions/columns.ts";
import type { Templates } from "../../templates.ts";
import { allowsBuilds } from "../sandbox-spec.ts";
import type { Trigger } from "../states/states.ts";
import type { Transitions } from "../states/transitions.ts";
import type { SetupLink } from "./setup-link.ts";

// Lets daemons fetch the sources of sessions and run their commands, and records the outcome. What is left to do is in the row, so a
// setup continues after a restart of the server or of the sandbox, on any server that finds it.
export interface SetupWatch extends AsyncDisposable {
  // Follows the setup of this session, if it runs and has one. No-op if this server follows it already.
  follow(session: Pick<SessionView, "id">): void;
  // Follows all that no other call has begun to follow.
  tick(): Promise<void>;
}

export interface SetupWatchDeps {
  store: Store;
  transitions: Pick<Transitions, "apply">;
  link: SetupLink;
  // Starts the agent of a session whose setup is over.
  startAgent(session: PartnerSession): Promise<void>;
  hasGitCredential(session: PartnerSession): boolean;
  // Starts the sandbox again in an image of the repository, or records why it does not.
  useImage(session: PartnerSession & { setup: SessionSetup }, image: string, signal: AbortSignal): Promise<void>;
  // Builds the image that the repository describes and starts the sandbox again in it, or records why it does not. `current` finds the
  // session as it is when the build has ended; null if it does not run.
  buildImage(
    session: PartnerSession & { setup: SessionSetup },
    current: () => Promise<(PartnerSession & { setup: SessionSetup }) | null>,
    signal: AbortSignal,
  ): Promise<void>;
  // Why this server builds no images. See SetupRequest.
  buildsRefusal: string | null;
  // Whether sandboxes have an image.
  hasImages: boolean;
  templates: Templates;
  site: Site;
  clock: Clock;
  log: Log;
}

type SessionInSetup = RunningSession & { setup: SessionSetup };

const NOT_ALLOWED = "the template does not allow it. An operator can set allowBuilds in the template.";

export function createSetupWatch(deps: SetupWatchDeps): SetupWatch {
  const { store, transitions, link, startAgent, hasGitCredential, useImage, buildImage, hasImages, templates, site, clock, log } = deps;
  const followed = new Map<SessionId, Promise<void>>();
  const closing = new AbortController();

  function follow({ id }: Pick<SessionView, "id">): void {
    if (followed.has(id) || closing.signal.aborted) return;
    const following = run(id)
      // The next tick tries again.
      .catch((error: unknown) => {
        if (!closing.signal.aborted) log[isAppError(error) ? "info" : "warn"]("setup.interrupted", { sessionId: id, error: String(error) });
      })
      .finally(() => followed.delete(id));
    followed.set(id, following);
  }

  async function run(id: SessionId): Promise<void> {
    while ((await runOnce(id)) === "again");
  }

  // `again`: the sandbox was started again.
  async function runOnce(id: SessionId): Promise<"again" | "over"> {
    const first = await find(id);
    if (!first) return "over";
    const { sandboxId } = first;
    await link.begin(sandboxId, requestOf(first), closing.signal);
    failpoint("setup.begun");
    for (let seen = ""; ;) {
      const report = await link.read(sandboxId, seen, closing.signal);
      const session = await find(id);
      if (!session || session.setup.attempt !== first.setup.attempt) return "over";
      const next = await record(session, report);
      if (next !== "wait") return next;
      seen = report.status;
    }
  }

  async function record(session: SessionInSetup, report: SetupReport): Promise<"wait" | "again" | "over"> {
    if (report.status === "source") return "wait";
    const atCommand = session.setupState === "source" ? await recordSource(session, report) : session;
    if (report.status === "command" && atCommand) return "wait";
    if (report.status === "build") {
      if (!atCommand) return "over";
      const hasFailed = atCommand.setup.image?.status === "failed";
      await buildImage(atCommand, () => find(session.id), closing.signal);
      // The program in the terminal goes on when it has read that the build has failed.
      return hasFailed ? "wait" : "again";
    }
    if (report.status === "image") {
      if (!atCommand || report.image === undefined) return "over";
      await useImage(atCommand, report.image, closing.signal);
      return "again";
    }
    if (atCommand && report.status === "done") await recordCommand(atCommand, report);
    await startAgent((await find(session.id, { also: "ended" })) ?? session);
    return "over";
  }

  // null: it failed, or another server has recorded it.
  async function recordSource(session: SessionInSetup, { status, reason }: SetupReport): Promise<SessionInSetup | null> {
    const hasFailed = status === "failed";
    const source = session.setup.source && {
      ...session.setup.source,
      status: hasFailed ? ("failed" as const) : ("ready" as const),
      reason: hasFailed ? (reason ?? "The repository could not be fetched.") : null,
    };
    const setup = { ...session.setup, source, ...(hasFailed && { status: "none" as const }) };
    const applied = await apply(session, hasFailed ? "source_failed" : "source_ready", { setup, setupState: hasFailed ? null : "command" });
    failpoint("setup.source_recorded");
    return hasFailed ? null : applied;
  }

  async function recordCommand(session: SessionInSetup, { exitCode }: SetupReport): Promise<void> {
    const hasRun = exitCode !== null;
    const setup: SessionSetup = { ...session.setup, status: hasRun ? "finished" : "none", exitCode };
    await apply(session, hasRun ? "setup_finished" : "setup_skipped", { setup, setupState: null });
  }

  async function apply(session: SessionInSetup, trigger: Trigger, changes: SessionChanges): Promise<SessionInSetup | null> {
    const updatedAtMs = Math.max(clock.now(), session.updatedAtMs + 1);
    const applied = await transitions.apply(session, trigger, { changes: { ...changes, updatedAtMs } });
    if (applied && applied !== "deleted") log.info(`session.${trigger}`, { sessionId: session.id, sandboxId: session.sandboxId });
    return applied && applied !== "deleted" ? (applied as SessionInSetup) : null;
  }

  // null unless it runs here and has a setup that is not over.
  async function find(id: SessionId, { also }: { also?: "ended" } = {}): Promise<SessionInSetup | null> {
    const session = await findSession(store.db, id);
    if (!session || !isPartnerSession(session) || session.state !== "running" || !isAtSite(session, site)) return null;
    if (session.setup === null || (session.setupState === null && also !== "ended")) return null;
    return session as SessionInSetup;
  }

  function requestOf(session: SessionInSetup): SetupRequest {
    const { source, command, attempt, image } = session.setup;
    const template = templates.get(session.template);
    const git = source?.git && { ...source.git, hasCredential: hasGitCredential(session) };
    return {
      attempt,
      left: session.setupState ?? "command",
      git: git ?? null,
      command,
      defaultCommand: template?.setup ?? null,
      image: {
        allowed: hasImages ? (template?.allowedImages ?? []) : null,
        used: image?.status === "used" ? image.name : null,
        failed: image?.status === "failed" ? image.name : null,
        reason: image?.reason ?? null,
      },
      noBuilds: deps.buildsRefusal ?? (allowsBuilds(template) ? null : NOT_ALLOWED),
    };
  }

  return {
    follow,
    async tick() {
      for (const session of await sessionsToSetUp(store.db, site)) follow(session);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all(followed.values());
    },
  };
}
