import { channel } from "node:diagnostics_channel";
import { existsSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { Command } from "commander";
import type { Config } from "@berth/server/config/config.ts";
import { DEMO_KEY_FILE, DEMO_PARTNER } from "@berth/server/keys/seed.ts";
import type { Server } from "@berth/server/main.ts";
import { openInBrowser } from "../../terminal/browser.ts";
import { setLateFlags } from "../../server-flags.js";
import { prettyLog } from "../../terminal/pretty-log.ts";
import { style } from "../../terminal/style.ts";

export const command = build();

function build(): Command {
  return new Command().option("--open", "open the start page in a browser, if this is a desktop").action(serve);
}

// Longer than requests in flight may take when the server closes.
const EXIT_MS = 20_000;

async function serve(options: { open?: boolean }): Promise<void> {
  const { readConfig, describeConfig } = await import("@berth/server/config/config.ts");
  const { config, warnings } = readConfig();
  const [{ createLog }, { openLossyOutput }] = await Promise.all([
    import("@berth/server/log.ts"),
    import("@berth/server/bounded-io/lossy-output.ts"),
  ]);
  openLossyOutput(process.stdout);
  const output = openLossyOutput(process.stderr);
  const log = createLog(config.logLevel, process.stderr.isTTY ? prettyLog(output) : output);
  for (const warning of warnings) log.warn("config.doubtful", { message: warning });
  log.info("config.read", describeConfig(config));

  // Before the start, so that a signal during it still shuts the server down.
  using signals = listenForSignals();
  const { untilUncaughtError } = await import("@berth/server/faults/uncaught-errors.ts");
  const failed = untilUncaughtError(log);
  const { startServer } = await import("@berth/server/main.ts");
  const server = await startServer(config, { log, droppedLogLines: () => output.droppedLines });
  try {
    await finishStart(config, server, options);
  } catch (error) {
    // Remaining handles must not keep the process alive.
    setTimeout(() => process.exit(1), EXIT_MS).unref();
    await server.close();
    throw new Error(`The start of the server failed, so it has stopped: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const reason = await Promise.race([signals.first.then(() => "signal" as const), failed.then(() => "failure" as const)]);
  log.info("server.stopping", { reason });
  await server.close();
  log.info("server.stopped");
  // Remaining handles of a failed server must not keep the process alive.
  if (reason === "failure") process.exit(1);
}

async function finishStart(config: Config, server: Server, options: { open?: boolean }): Promise<void> {
  process.stdout.write(await startMessage(config, server));
  if (options.open && server.opensWorkspaces) openInBrowser(server.url);
  // Compiled code is stored now and not at the end, because the process may be killed. It makes the next start faster. No-op for the
  // bundle, whose code cli/bundle.js stores.
  flushCompileCache();
  channel("berth:started").publish({});
  setLateFlags();
}

// `first` resolves at the first signal. A second one ends the process at once, unless it comes within a second: the terminal and
// programs such as npx may both forward one Ctrl-C. After the disposal, a signal ends the process as usual.
function listenForSignals(): Disposable & { first: Promise<void> } {
  const { promise: first, resolve } = Promise.withResolvers<void>();
  let firstMs: number | undefined;
  const onSignal = () => {
    if (firstMs !== undefined && performance.now() - firstMs > 1000) process.exit(130);
    firstMs ??= performance.now();
    resolve();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return { first, [Symbol.dispose]: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal) };
}

async function startMessage(config: Config, { url, driver, demo, opensWorkspaces }: Server): Promise<string> {
  const { probeDrivers } = await import("@berth/server/drivers/index.ts");
  const probe = (await probeDrivers({ ...config, driver: driver.name }))[0];
  const lines = [
    "",
    `  ${style.bold("Berth")} is running at ${style.cyan(url)}`,
    "",
    ...(opensWorkspaces ? [line("open", `${url}/ opens a workspace in your browser, and so does ${style.bold("npx berth open")}`)] : []),
    line("sandboxes", `${driver.name}${probe ? style.dim(` · ${probe.reason}`) : ""}`),
    line("store", config.databaseUrl ? "PostgreSQL" : `SQLite in ${config.dataDir}`),
    line("docs", `${url}/docs`),
    line("to stop", `Ctrl-C stops the server, but sandboxes keep running; ${style.bold("npx berth down")} stops them too`),
    ...(driver.traits.isolates
      ? []
      : ["", `  ${style.yellow("Sandboxes are not isolated:")} they are plain processes of this user. Use this for evaluation only.`]),
    ...(demo ? ["", ...firstSession(config, url, demo)] : opensWorkspaces ? lostKey(config) : []),
    "",
    "",
  ];
  return lines.join("\n");
}

// Only its hash is stored, so a deleted key cannot be shown again. Another is not issued unasked: the file may be gone on purpose.
function lostKey({ apiKey, dataDir }: Config): string[] {
  const file = join(dataDir, DEMO_KEY_FILE);
  if (apiKey || existsSync(file)) return [];
  return [line("api key", `${file} is missing; ${style.bold(`npx berth key issue ${DEMO_PARTNER}`)} prints another key`)];
}

const line = (name: string, value: string) => `  ${style.dim(name.padEnd(11))}${value}`;

// A configured key is not printed, because the output may be stored.
export const firstSession = (config: Pick<Config, "apiKey">, url: string, demo: { key: string; file: string }) => [
  config.apiKey
    ? "  Create your first session with the key that you configured:"
    : `  Create your first session (the key is shown once and stored in ${demo.file}):`,
  "",
  `    curl -X POST ${url}/api/b2b/sessions \\`,
  `      -H "Authorization: Bearer ${config.apiKey ? "$BERTH_API_KEY" : demo.key}" \\`,
  `      -H "Content-Type: application/json" \\`,
  `      -d '{"externalUserId": "me"}'`,
];
