import { globSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { machine } from "../../../tests/support/machine.ts";
import { debianImage } from "../../../tests/support/registry/images.ts";
import { registryMissing, startRegistry, type TestRegistry } from "../../../tests/support/registry/registry.ts";
import type { Row, Section } from "../../report/report.ts";
import type { Benchmark, Run } from "../../support/benchmark.ts";
import { alternate, timed } from "../../support/rounds.ts";
import { runProgram } from "../../support/run-program.ts";
import { openServer } from "../../support/server.ts";

const SANDBOXES = 20;
const root = join(import.meta.dirname, "../../..");
const PULL = "berth template pull";
const COPY = "skopeo copy alone";
const BOTH = "skopeo copy and umoci unpack";

export const benchmark: Benchmark = {
  summary:
    "from a registry to an unpacked image, beside skopeo and umoci alone; the first create after that and the next; disk of 20 sandboxes",
  async run(run) {
    const missing = [...registryMissing, machine.imageTools()].find(Boolean);
    if (missing !== undefined) {
      run.remark(`Not measured: it ${missing}.`);
      return [];
    }
    const registry = run.resources.own(await startRegistry());
    const folder = await mkdtemp(join(tmpdir(), "berth-bench-"));
    await using _ = run.resources.defer(() => rm(folder, { recursive: true, force: true }));
    const image = await registry.add("debian", await debianImage());
    const templates = join(folder, "templates.json");
    await writeFile(templates, JSON.stringify({ default: { image, agent: null } }));
    const env = {
      BERTH_TEMPLATES: templates,
      BERTH_REGISTRY_AUTH: registry.authFile,
      BERTH_REGISTRY_CERTIFICATES: registry.certificateFolder,
    };
    return [
      ...(run.wants("pull") ? [await measurePull(run, { registry, folder, image, env })] : []),
      ...(run.wants("sandboxes") ? await measureSandboxes(run, env) : []),
    ];
  },
};

interface PullParts {
  registry: TestRegistry;
  folder: string;
  image: string;
  env: Record<string, string>;
}

async function measurePull(run: Run, { registry, folder, image, env }: PullParts): Promise<Section> {
  const { BERTH_PORT: _, ...inherited } = process.env;
  const layout = join(folder, "layout");
  const unpacked = join(folder, "unpacked");
  const from = ["--src-authfile", registry.authFile, "--src-cert-dir", registry.certificateFolder, `docker://${image}`];
  const copy = () => runProgram("skopeo", ["copy", "--quiet", ...from, `oci:${layout}:image`]);
  const unpack = () => runProgram("umoci", ["raw", "unpack", "--image", `${layout}:image`, unpacked]);
  const pull = () =>
    runProgram(process.execPath, [join(root, "cli/bin.js"), "template", "pull", "default"], {
      env: { ...inherited, ...env, BERTH_DATA_DIR: join(folder, "data") },
    });
  const contestant = (name: string, work: () => Promise<unknown>) => ({
    name,
    async round() {
      const tookMs = await timed(work);
      for (const path of [layout, unpacked, join(folder, "data")]) await rm(path, { recursive: true, force: true });
      return [tookMs];
    },
  });
  const values = await alternate(
    [
      contestant(PULL, pull),
      contestant(COPY, copy),
      contestant(BOTH, async () => {
        await copy();
        await unpack();
      }),
    ],
    { rounds: run.rounds(7, 2), warmUps: 1, isOver: run.isOver },
  );
  const rows = [...values].map(([what, taken]): Row => ({ what, unit: "ms", values: taken, ...(what === PULL && { beside: BOTH }) }));
  return run.keep({ title: "From a registry on the loopback to an unpacked Debian image", rows });
}

async function measureSandboxes(run: Run, env: Record<string, string>): Promise<Section[]> {
  await using server = await openServer(run, { poolSize: 0, env });
  const { caller, berth } = server;
  const images = join(berth.dataDir, "images");
  while (globSync(join(images, "sha256-*")).length === 0) await sleep(25);
  const roundTrip = async () => {
    const session = await caller.create();
    await caller.exec(session.sandboxId, "true");
    return session;
  };
  const values: number[] = [];
  for (let at = 0; at < (run.isShort ? 20 : 100); at++) {
    const startedMs = performance.now();
    const session = await roundTrip();
    values.push(performance.now() - startedMs);
    await caller.destroy(session);
  }
  const [first = 0, ...next] = values;
  const creates = run.keep({
    title: "Create to the end of the first command in that image, without a pool",
    rows: [
      { what: "the first after the pull", unit: "ms", values: [first] },
      { what: "the second and later ones", unit: "ms", values: next },
      { what: "the last ten of them", unit: "ms", values: next.slice(-10) },
    ],
  });
  const sandboxes = join(berth.dataDir, "sandboxes");
  // The files of a destroyed sandbox are removed later.
  while (globSync(join(sandboxes, "*")).length > 0) await sleep(25);
  const before = await megabytes(berth.dataDir);
  for (let at = 0; at < SANDBOXES; at++) await roundTrip();
  const grown = (await megabytes(berth.dataDir)) - before;
  const disk = run.keep({
    title: `Disk of ${SANDBOXES} sandboxes of one image`,
    rows: [
      { what: "the image, unpacked", unit: "MB", values: [await megabytes(images)] },
      { what: `${SANDBOXES} sandboxes, together`, unit: "MB", values: [grown] },
    ],
  });
  return [creates, disk];
}

const megabytes = async (folder: string) =>
  Number((await runProgram("du", ["--summarize", "--block-size=1000", folder])).split("\t")[0]) / 1000;
