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

interface Options {
  open?: boolean;
  quarantineUnknown?: boolean;
}

export const command = build();

function build(): Command {
  return new Command()
    .option("--open", "open the start page in a browser, if this is a desktop")
    .option("--quarantine-unknown", "start even if the store does not know the sandboxes in use: they are stopped and kept")
    .action(serve);
}

// A stop ends by itself after this time, whatever hangs. On a cluster, creates take longer, and deploy/kubernetes gives the server a
// minute.
const STOP_MS = { local: 15_000, cluster: 50_000 };

async function serve(options: Options): Promise<void> {
  const { readConfig, describeConfig } = await import("@berth/server/config/config.ts");
  const { config, warnings } = readConfig();
  const [{ createLog }, { openLossyOutput }, { endAfter, endProcess }, { untilUncaughtError }] = await Promise.all([
    import("@berth/server/log.ts"),
    import("@berth/server/bounded-io/lossy-output.ts"),
    import("@berth/server/faults/end-process.ts"),
    import("@berth/server/faults/uncaught-errors.ts"),
  ]);
  openLossyOutput(process.stdout);
  const output = openLossyOutput(process.stderr);
  const log = createLog(config.logLevel, process.stderr.isTTY ? prettyLog(output) : output);
  for (const warning of warnings) log.warn("config.doubtful", { message: warning });
  log.info("config.read", describeConfig(config));

  // The listeners are added before the start, so that a signal during it still shuts the server down.
  let server: Server | undefined;
  const signal = untilSignal(() => endProcess(130));
  const reason = Promise.race([signal.then(() => "signal" as const), untilUncaughtError(log).then(() => "failure" as const)]);
  const beginStop = (why: string) => {
    log.info("server.stopping", { reason: why });
    endAfter(STOP_MS[config.driver === "kubernetes" ? "cluster" : "local"], log, () => server?.unfinished() ?? ["the start"]);
  };
  void reason.then(beginStop);
  const { startServer } = await import("@berth/server/main.ts");
  server = await startServer(config, {
    log,
    droppedLogLines: () => output.droppedLines,
    quarantineUnknown: options.quarantineUnknown ?? false,
  });
  try {
    await finishStart(config, server, options);
  } catch (error) {
    beginStop("failed start");
    await server.close();
    throw new Error(`The start of the server failed, so it has stopped: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
  const isFailed = (await reason) === "failure";
  await server.close();
  log.info("server.stopped");
  endProcess(isFailed ? 1 : 0);
}

async function finishStart(config: Config, server: Server, options: Options): Promise<void> {
  process.stdout.write(await startMessage(config, server));
  if (options.open && server.opensWorkspaces) openInBrowser(server.url);
  // Compiled code is stored now and not at the end, because the process may be killed. It makes the next start faster. No-op for the
  // bundle, whose code cli/bundle.js stores.
  flushCompileCache();
  channel("berth:started").publish({});
  setLateFlags();
}

// Resolves at the first signal, and calls `onSecond` at the next one, unless it comes at once: the terminal and programs such as npm
// both pass on one Ctrl-C.
function untilSignal(onSecond: () => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let firstMs: number | undefined;
  const onSignal = () => {
    if (firstMs !== undefined && performance.now() - firstMs > SAME_SIGNAL_MS) onSecond();
    firstMs ??= performance.now();
    resolve();
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return promise;
}

const SAME_SIGNAL_MS = 500;

async function startMessage(config: Config, { url, driver, demo, opensWorkspaces }: Server): Promise<string> {
  const { probeDrivers } = await import("@berth/server/drivers/index.ts");
  const reason = (await probeDrivers({ ...config, driver: driver.name }))[0]?.reason;
  const refused = driver.traits.isolates ? [] : (await probeDrivers(config)).filter(({ usable }) => !usable);
  // Docker was refused too, but oci needs less.
  const refusal = refused.find((probe) => probe.driver === "oci")?.reason;
  const lines = [
    "",
    `  ${style.bold("Berth")} is running at ${style.cyan(url)}`,
    "",
    ...(opensWorkspaces ? [line("open", `${url}/ opens a workspace in your browser, and so does ${style.bold("npx berth open")}`)] : []),
    line("sandboxes", `${driver.name}${reason ? style.dim(` · ${reason}`) : ""}`),
    line("store", config.databaseUrl ? "PostgreSQL" : `SQLite in ${config.dataDir}`),
    line("docs", `${url}/docs`),
    line("to stop", `Ctrl-C stops the server, but sandboxes keep running; ${style.bold("npx berth down")} stops them too`),
    ...(driver.traits.isolates
      ? []
      : [
          "",
          `  ${style.yellow("Sandboxes are not isolated:")} they are plain processes of this user. Use this for evaluation only.`,
          ...(refusal ? [`  ${refusal}`] : []),
        ]),
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
