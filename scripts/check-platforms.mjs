// `npm run check:platforms`: installs the lockfile for each architecture that we support into a temporary folder, and
// checks that every native file in it is for that architecture. The other architecture's programs are not run.
import { closeSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { EXCEPTIONS, membersFor, SUPPORTED_CPUS } from "./platform-packages.mjs";
import { runQuietly, runStep, runSteps, StepError } from "./step.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
// e_machine of an ELF header -> npm's name for the architecture
const MACHINES = { 3: "ia32", 40: "arm", 62: "x64", 183: "arm64", 243: "riscv64" };

// Some packages carry a folder per platform and choose at run time.
const otherPrebuild = (cpu) => new RegExp(`/prebuilds/(?!linux-${cpu}/)`);

await runSteps(async () => {
  for (const cpu of SUPPORTED_CPUS) await checkPlatform(cpu);
});

async function checkPlatform(cpu) {
  const folder = mkdtempSync(join(tmpdir(), `berth-linux-${cpu}-`));
  try {
    await runStep(`installing for linux-${cpu}`, () => install(folder, cpu));
    const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
    for (const { name } of membersFor(lock, cpu)) checkMember(join(folder, "node_modules"), name, cpu);
    const binaries = findBinaries(join(folder, "node_modules"));
    const foreign = binaries.filter((binary) => binary.cpu !== cpu && !otherPrebuild(cpu).test(binary.path));
    if (foreign.length > 0)
      throw new StepError(
        `linux-${cpu} gets files for another machine: ${foreign.map((binary) => `${binary.path} (${binary.cpu})`).join(", ")}.`,
      );
    console.error(`berth: linux-${cpu}: all ${binaries.filter((binary) => binary.cpu === cpu).length} native files are for ${cpu}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function checkMember(modules, name, cpu) {
  if (existsSync(join(modules, name))) {
    if (findBinaries(join(modules, name)).length === 0) throw new StepError(`${name} has no native file for linux-${cpu}.`);
  } else if (name in EXCEPTIONS) {
    console.error(`berth: linux-${cpu} has no ${name}: ${EXCEPTIONS[name]}`);
  } else {
    throw new StepError(`linux-${cpu} does not get ${name}. Choose a version that exists for it.`);
  }
}

function install(folder, cpu) {
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) cpSync(join(root, name), join(folder, name));
  for (const workspace of JSON.parse(readFileSync(join(root, "package.json"), "utf8")).workspaces) {
    mkdirSync(join(folder, workspace));
    cpSync(join(root, workspace, "package.json"), join(folder, workspace, "package.json"));
  }
  const flags = ["--os=linux", `--cpu=${cpu}`, "--libc=glibc", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { ok, output } = runQuietly("npm", ["ci", ...flags], { cwd: folder });
  if (!ok) throw new StepError(`npm ci failed for linux-${cpu}: ${output.trim()}`);
}

function findBinaries(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(folder, path), cpu: machineOf(path) }))
    .filter((binary) => binary.cpu !== undefined);
}

function machineOf(path) {
  const header = Buffer.alloc(20);
  const file = openSync(path, "r");
  try {
    if (readSync(file, header) < 20 || header.readUInt32BE(0) !== 0x7f454c46) return undefined;
  } finally {
    closeSync(file);
  }
  return MACHINES[header.readUInt16LE(18)] ?? `machine ${header.readUInt16LE(18)}`;
}
