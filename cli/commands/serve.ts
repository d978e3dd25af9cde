import { flushCompileCache } from "node:module";
import { Command } from "commander";
import type { Config } from "@berth/server/config/config.ts";
import type { Server } from "@berth/server/main.ts";
import { prettyLog } from "../terminal/pretty-log.ts";
import { style } from "../terminal/style.ts";

export const command = build();

function build(): Command {
  return new Command().action(serve);
}

async function serve(): Promise<void> {
  const { readConfig, describeConfig } = await import("@berth/server/config/config.ts");
  const { config, warnings } = readConfig();
  const { createLog } = await import("@berth/server/log.ts");
  const log = createLog(config.logLevel, process.stderr.isTTY ? prettyLog(process.stderr) : undefined);
  for (const warning of warnings) log.warn("config.doubtful", { message: warning });
  log.info("config.read", describeConfig(config));

  // From now on: a signal during the start must not leave half a server behind.
  const signalled = untilSignal();
  const { untilUncaughtError } = await import("@berth/server/faults/uncaught-errors.ts");
  const failed = untilUncaughtError(log);
  const { startServer } = await import("@berth/server/main.ts");
  const server = await startServer(config, { log });
  process.stdout.write(await startMessage(config, server));
  // Now rather than at the end, which may be a kill: the next start is faster by what was compiled in this one.
  flushCompileCache();
  const reason = await Promise.race([signalled.then(() => "signal" as const), failed.then(() => "failure" as const)]);
  log.info("server.stopping", { reason });
  await server.close();
  log.info("server.stopped");
  // Whatever is left of a failed server must not keep its process alive.
  if (reason === "failure") process.exit(1);
}

// Resolves at the first signal. A second one ends the process at once; within a second it is taken for the same, because a
// terminal and the programs in between may each pass Ctrl-C on.
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const onSignal = () => {
      if (firstMs !== undefined && performance.now() - firstMs > 1000) process.exit(130);
      firstMs ??= performance.now();
      resolve();
    };
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  });
}

async function startMessage(config: Config, { url, driver, demo }: Server): Promise<string> {
  const { probeDrivers } = await import("@berth/server/drivers/index.ts");
  const probe = (await probeDrivers({ ...config, driver: driver.name }))[0];
  const lines = [
    "",
    `  ${style.bold("Berth")} is running at ${style.cyan(url)}`,
    "",
    line("sandboxes", `${driver.name}${probe ? style.dim(` · ${probe.reason}`) : ""}`),
    line("store", config.databaseUrl ? "PostgreSQL" : `SQLite in ${config.dataDir}`),
    line("docs", `${url}/docs`),
    line("to stop", `Ctrl-C ends the server, and sandboxes run on; ${style.bold("npx berth down")} ends them too`),
    ...(driver.traits.isolates
      ? []
      : ["", `  ${style.yellow("Nothing is isolated:")} sandboxes are plain processes of this user. For trying out only.`]),
    ...(demo ? ["", ...firstSession(config, url, demo)] : []),
    "",
    "",
  ];
  return lines.join("\n");
}

const line = (name: string, value: string) => `  ${style.dim(name.padEnd(11))}${value}`;

// A key that the operator has set is not repeated into whatever keeps the output.
export const firstSession = (config: Pick<Config, "apiKey">, url: string, demo: { key: string; file: string }) => [
  config.apiKey
    ? "  Your first session, with the key that you have set:"
    : `  Your first session (the key is shown once and kept in ${demo.file}):`,
  "",
  `    curl -X POST ${url}/api/b2b/sessions \\`,
  `      -H "Authorization: Bearer ${config.apiKey ? "$BERTH_API_KEY" : demo.key}" \\`,
  `      -H "Content-Type: application/json" \\`,
  `      -d '{"externalUserId": "me"}'`,
];
