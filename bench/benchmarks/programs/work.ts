import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { startRegistry } from "../../support/registry.ts";
import type { Row } from "../../report/report.ts";
import { alternate, timed } from "../../support/rounds.ts";
import { runProgram } from "../../support/run-program.ts";
import { openServer } from "../../support/server.ts";

export const benchmark: Benchmark = {
  summary: "what developers do, inside a sandbox beside the host: npm ci, git clone, tsc, small files, fsync, spawn",
  async run(run) {
    const registry = await startRegistry(run);
    if (!registry) run.remark("This machine has only loopback addresses, so npm and tsc are skipped.");
    const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
    await using _ = run.resources.defer(() => rm(folder, { recursive: true }));
    // The sandbox gets as many processors as the host has, so that the ratio shows what isolation costs.
    const templates = join(folder, "templates.json");
    await writeFile(templates, JSON.stringify({ default: { cpus: cpus().length } }));
    const env = { BERTH_TEMPLATES: templates, ...(registry && { BERTH_EGRESS_ALLOW: registry.host }) };
    await using server = await openServer(run, { poolSize: 0, env });
    const { sandboxId } = await server.caller.create();
    const places: Place[] = [
      { name: "sandbox", sh: (command) => server.caller.exec(sandboxId, command) },
      { name: "host", sh: (command) => runProgram("/bin/sh", ["-c", command], { cwd: folder, env: { PATH: PLAIN_PATH, HOME: folder } }) },
    ];
    run.progress("preparing");
    for (const { sh } of places) await sh(prepareScript(registry?.url));
    const rows: Row[] = [];
    for (const task of TASKS.filter(({ name, needsRegistry }) => (registry || !needsRegistry) && run.wants(name)))
      rows.push(...(await measureTask(run, places, task)));
    return [{ title: "Work in a sandbox and on the host", rows }];
  },
};

interface Place {
  name: string;
  sh(command: string): Promise<string>;
}

interface Task {
  name: string;
  command: string;
  // Removes the files of the command, outside the measured time.
  undo: string;
  needsRegistry?: true;
  atMost?: number;
  // A command that shows on the host what the task costs at least in a sandbox.
  limit?: { name: string; command: string };
}

const PLAIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const TASKS: Task[] = [
  { name: "npm ci", command: "npm ci --silent --cache .cache", undo: "rm -rf .cache", needsRegistry: true },
  { name: "tsc", command: "node node_modules/typescript/lib/tsc.js -p .", undo: "true", needsRegistry: true },
  { name: "git clone of 2,000 files", command: "git clone --quiet --no-hardlinks repository clone", undo: "rm -rf clone" },
  { name: "20,000 small files", command: "node work.cjs files", undo: "rm -rf files" },
  {
    name: "300 fsyncs",
    command: "node work.cjs fsync",
    undo: "rm -f synced",
    atMost: 1.5,
    limit: { name: "300 times the writes of a journal, host", command: "node work.cjs journal" },
  },
  { name: "300 spawns", command: "node work.cjs spawn", undo: "true" },
];
const DEPENDENCIES = { fastify: "*", typescript: "*", "@types/node": "*" };
const TS_CONFIG = {
  compilerOptions: { strict: true, module: "nodenext", target: "es2022", noEmit: true, types: ["node"] },
  files: ["main.ts"],
};
const MAIN = 'import fastify from "fastify";\nexport const app = fastify();\n';
const WORK = `
const fs = require("node:fs");
const tasks = {
  repository() {
    fs.mkdirSync("repository");
    for (let i = 0; i < 2000; i++) fs.writeFileSync("repository/" + i, ("line " + i + "\\n").repeat(50));
  },
  files() {
    for (let folder = 0; folder < 200; folder++) {
      fs.mkdirSync("files/" + folder, { recursive: true });
      for (let i = 0; i < 100; i++) fs.writeFileSync("files/" + folder + "/" + i, "x".repeat(100));
    }
  },
  fsync() {
    const file = fs.openSync("synced", "w");
    for (let i = 0; i < 300; i++) {
      fs.writeSync(file, "x".repeat(4096));
      fs.fsyncSync(file);
    }
  },
  // ext4 writes data and journal, waits for a flush, writes the commit block, and waits for another flush.
  journal() {
    const file = fs.openSync("journal", "r+");
    for (let i = 0; i < 300; i++) {
      fs.writeSync(file, "x".repeat(20480), i * 24576);
      fs.fdatasyncSync(file);
      fs.writeSync(file, "x".repeat(4096), i * 24576 + 20480);
      fs.fdatasyncSync(file);
    }
  },
  spawn() {
    for (let i = 0; i < 300; i++) require("node:child_process").spawnSync("/bin/true");
  },
};
tasks[process.argv[2]]();
`;

// The commands that write the files of all tasks into the current folder.
function prepareScript(registryUrl: string | undefined): string {
  const write = (file: string, text: string) => `printf %s ${quote(Buffer.from(text).toString("base64"))} | base64 -d > ${file}`;
  const author = "-c user.name=bench -c user.email=bench@example.com";
  return [
    "set -e",
    write("work.cjs", WORK),
    write("package.json", JSON.stringify({ name: "bench", version: "1.0.0", dependencies: DEPENDENCIES })),
    write("tsconfig.json", JSON.stringify(TS_CONFIG)),
    write("main.ts", MAIN),
    "node work.cjs repository",
    "head -c 8M /dev/zero > journal && sync journal",
    `git init --quiet repository && git -C repository add . && git -C repository ${author} commit --quiet -m first`,
    ...(registryUrl === undefined
      ? []
      : [
          write(".npmrc", `registry=${registryUrl}\naudit=false\nfund=false\nupdate-notifier=false\n`),
          "npm install --silent --package-lock-only",
          "npm ci --silent --cache .cache && rm -rf .cache",
        ]),
  ].join("\n");
}

const quote = (text: string) => `'${text}'`;

async function measureTask(run: Run, places: readonly Place[], { name, command, undo, atMost, limit }: Task): Promise<Row[]> {
  run.progress(name);
  const host = `${name}, host`;
  const contestant = (what: string, sh: Place["sh"], measured: string) => ({
    name: what,
    async round() {
      const tookMs = await timed(() => sh(measured));
      await sh(undo);
      return [tookMs];
    },
  });
  const contestants = places.map((place) => contestant(`${name}, ${place.name}`, place.sh, command));
  if (limit) contestants.push(contestant(limit.name, places.find((place) => place.name === "host")!.sh, limit.command));
  const values = await alternate(contestants, { rounds: run.rounds(5, 1), warmUps: run.isShort ? 0 : 1 });
  return [...values].map(([what, taken]): Row => {
    const row = { what, unit: "ms" as const, values: taken };
    if (what === host) return row;
    return { ...row, beside: host, ...(atMost !== undefined && what !== limit?.name && { targets: [{ of: "ratio", atMost }] }) };
  });
}
