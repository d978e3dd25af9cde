import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../clock.ts";
import type { Links } from "../link.ts";
import type { Log } from "../log.ts";
import type { Secrets } from "../secrets.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { createAppFiles } from "./app-files.ts";
import { createCookies } from "./cookie.ts";
import { sendPage } from "./pages.ts";
import { createPreview } from "./preview.ts";
import { createPreviewLinks } from "./preview-link.ts";
import { describeError, isOurFault, refuseUpgrade, sendError, splitTarget } from "./respond.ts";
import { createSandboxes, type SandboxesDeps } from "./sandboxes.ts";
import { createSessionStreams } from "./session-stream.ts";
import { createSocketRelay } from "./socket-relay.ts";
import { createStandings, type StandingsDeps } from "./standing.ts";
import type { Tickets } from "./ticket.ts";
import { createWorkspace } from "./workspace.ts";

// The way from outside into sandboxes: `/workspace/**` for browsers, `/sandboxes/**` for partners' backends, and hosts of
// the preview domain for web servers in sandboxes. It takes its requests before the API sees them, because it passes
// streams on as they are.
export interface Gateway extends AsyncDisposable {
  // Whether a request is the gateway's: asked for every request of the server.
  owns(request: IncomingMessage): boolean;
  request(request: IncomingMessage, response: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export interface GatewayDeps {
  sessions: Pick<Sessions, "bySandbox" | "onChange">;
  findPartner: StandingsDeps["findPartner"];
  authenticate: SandboxesDeps["authenticate"];
  links: Pick<Links, "request" | "upgrade">;
  tickets: Pick<Tickets, "verify">;
  secrets: Pick<Secrets, "derive">;
  clock: Clock;
  log: Log;
  baseUrl: string;
  // null: no previews.
  previewDomain: string | null;
  // Where the browser app is built.
  appFolder: string;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { links, tickets, secrets, clock, log, baseUrl, previewDomain, authenticate } = deps;
  const standings = createStandings(deps);
  const cookies = createCookies({ secrets, secure: baseUrl.startsWith("https:"), clock });
  const sockets = createSocketRelay({ links, standings, clock });
  const previews = createPreviewLinks({ secrets, baseUrl, domain: previewDomain, clock });
  const streams = createSessionStreams({ standings, clock, previewUrlOf: (sandboxId) => previews.templateOf(sandboxId) });
  const files = createAppFiles(deps.appFolder);
  const sandboxes = createSandboxes({ authenticate, standings, links, sockets });
  const workspace = createWorkspace({ tickets, cookies, standings, log, files, streams, previews, links, sockets, baseUrl, previewDomain });
  const preview = createPreview({ previews, cookies, standings, links, sockets, baseUrl });

  const areaOf = (request: IncomingMessage) => {
    if (previews.parseHost(request.headers.host)) return preview;
    const match = AREA.exec(request.url ?? "");
    return match?.[1] === "sandboxes" ? sandboxes : match ? workspace : null;
  };

  return {
    owns: (request) => areaOf(request) !== null,

    request(request, response) {
      request.on("error", () => {});
      response.on("error", () => {});
      areaOf(request)
        ?.request(request, response)
        .catch((error: unknown) => {
          if (isOurFault(error)) log.error("gateway.failed", { path: splitTarget(request).path, message: String(error) });
          if (isOurFault(error) && wantsPage(request)) sendPage(response, "failed", "*");
          else sendError(response, error);
        });
    },

    upgrade(request, socket, head) {
      socket.on("error", () => socket.destroy());
      areaOf(request)
        ?.upgrade(request, socket, head)
        .catch((error: unknown) => {
          if (isOurFault(error)) log.error("gateway.failed", { path: splitTarget(request).path, message: String(error) });
          const { status, body, headers } = describeError(error);
          refuseUpgrade(socket, status, JSON.stringify(body), headers);
        });
    },

    async [Symbol.asyncDispose]() {
      await streams[Symbol.asyncDispose]();
      await sockets[Symbol.asyncDispose]();
      await standings[Symbol.asyncDispose]();
    },
  };
}

const AREA = /^\/(workspace|sandboxes)(?=[/?]|$)/;

const wantsPage = (request: IncomingMessage) => request.headers.accept?.includes("text/html") ?? false;
