import { closeSync, constants, createReadStream, mkdirSync, openSync, statSync, writeSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { BuildNews } from "@berth/contract/daemon-internal.ts";
import { readJson } from "../http/body.ts";
import { badRequest, notFound } from "../http/errors.ts";
import { sendJson } from "../http/reply.ts";
import type { Route } from "../http/route.ts";
import type { SetupFiles } from "./setup-files.ts";

// The server fetches the files for a build here, and sends the log of the build.
export const buildRoutes = (files: SetupFiles): Route[] => [
  {
    method: "GET",
    path: "/internal/setup/build",
    async handle({ response }) {
      const size = statSync(files.buildArchive, { throwIfNoEntry: false })?.size;
      if (size === undefined) throw notFound("There is nothing to build");
      response.writeHead(200, { "Content-Type": "application/x-tar", "Content-Length": size });
      await pipeline(createReadStream(files.buildArchive, { start: 0, end: Math.max(size - 1, 0) }), response);
    },
  },
  {
    method: "POST",
    path: "/internal/setup/build",
    async handle({ request, response }) {
      const { from, text, failed } = (await readJson(request)) as Partial<BuildNews>;
      if (!Number.isSafeInteger(from) || from! < 0 || typeof text !== "string") throw badRequest("The news of the build is malformed");
      append(files, from!, text);
      if (typeof failed === "string") files.writeBuildEnd({ reason: failed });
      sendJson(response, 200, { status: "ok" });
    },
  },
];

// Idempotent: the same news may come twice.
function append({ folder, buildLog }: SetupFiles, from: number, text: string): void {
  if (text === "") return;
  mkdirSync(folder, { recursive: true });
  const file = openSync(buildLog, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    writeSync(file, Buffer.from(text), 0, undefined, from);
  } finally {
    closeSync(file);
  }
}
