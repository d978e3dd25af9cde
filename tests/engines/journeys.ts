import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { on } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Terminal } from "@berth/contract/daemon.ts";
import { newId, type Session, type VolumeList } from "@berth/contract";
import { readConfig } from "../../server/config/config.ts";
import { openDriver } from "../../server/drivers/index.ts";
import { silentLog } from "../../server/log.ts";
import { DEFAULT_TEMPLATE } from "../../server/templates.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { editor, eventually, shareChromium, openWorkspace, openFile, screenText, typeInTerminal } from "../support/browser/workspace.ts";
import { runCli } from "../support/servers/cli.ts";
import { describeWith, machine, testWith, type Missing } from "../support/machine.ts";
import { startGitServer, type GitServer } from "../support/git/git-server.ts";
import { sharedTemplate, templateJourney } from "./template-journey.ts";
import { askThrough, startWorld, type World } from "./world.ts";

export interface TestedEngine {
  env: Record<string, string>;
  // The objects that the engine still holds for a sandbox.
  leftovers(sandboxId: string): Promise<string[]>;
  // Ends the sandbox's processes behind the server's back.
  crash(sandboxId: string): Promise<void>;
  imageOf(sandboxId: string): Promise<string>;
  dispose(): Promise<void>;
}

export interface JourneyOptions {
  freezes: boolean;
  // The id of the user in sandboxes; absent if they have no users of their own.
  user?: string;
  // An image that works and one that does not, besides the default image. `works` has the variables of IMAGE_ENV; if it does not,
  // `foreign` says why.
  images: { works: string; fails: string; foreign?: string };
  missing?: Missing;
  // A variant of an engine whose other journeys are complete. It runs only the journeys in which variants differ, unless
  // BERTH_TEST_DRIVERS=all.
  isVariant?: boolean;
}

// The journeys of a partner and a person, unchanged, on another engine than the default, with the real server and browser.
export function engineJourneys(
  name: string,
  prepare: () => Promise<TestedEngine>,
  { freezes, user, images, missing, isVariant = false }: JourneyOptions,
): void {
  const sameInVariants = machine.sameInVariants(isVariant);
  describeWith(missing, name, () => {
    let engine: TestedEngine;
    let berth: Berth;
    let world: World;
    let git: GitServer;
    let folder: string;

    beforeAll(async () => {
      world = await startWorld();
      engine = await prepare();
      git = await startGitServer(null);
      folder = mkdtempSync(join(tmpdir(), "berth-journeys-"));
      const templates = join(folder, "templates.json");
      const { works, fails } = images;
      writeFileSync(templates, JSON.stringify({ default: { allowedImages: [works, fails] }, ...sharedTemplate(works) }));
      berth = await startBerth({
        BERTH_LOG_LEVEL: "warn",
        BERTH_POOL_SIZE: "1",
        BERTH_TEMPLATES: templates,
        BERTH_EGRESS_ALLOW: `${world.address},${git.address}`,
        ...engine.env,
      });
    });
    afterAll(async () => {
      await berth?.[Symbol.asyncDispose]();
      await engine?.dispose();
      await git?.[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
      await world?.[Symbol.asyncDispose]();
    });

    const step = (session: { sessionId: string }, action: string, body?: object) =>
      berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/${action}`, body);

    test("a session is created, used, paused, resumed and destroyed", async () => {
      const { api } = berth;
      const session = await api.create({ envVars: { GREETING: "hello" }, metadata: { plan: "pro" } });
      expect(session).toMatchObject({ status: "running", sandboxUrl: `${berth.url}/sandboxes/${session.sandboxId}` });
      expect((await api.exec(session.sandboxId, "echo $GREETING; pwd; echo data > file.txt; echo set > ~/.setting")).stdout).toMatch(
        /^hello\n/,
      );
      await api.writeFile(session.sandboxId, "written.txt", "over the API");
      expect(await typeInNewTerminal(berth, session, "echo $GREETING-$((40+2))\n")).toContain("hello-42");
      await api.exec(session.sandboxId, "echo ran > /tmp/here; (sleep 1000 > /dev/null 2>&1 & echo $! > ~/.sleeping)");

      expect(await step(session, "pause")).toMatchObject({ status: 200, body: { status: "paused" } });
      expect((await step(session, "pause")).status).toBe(409);
      await expect(api.exec(session.sandboxId, "true")).rejects.toThrow("409");
      expect(await step(session, "resume", { autoStartAgent: false })).toMatchObject({
        status: 200,
        body: { status: "running", sandboxId: session.sandboxId },
      });
      expect((await step(session, "resume")).status).toBe(409);
      expect((await api.exec(session.sandboxId, "cat file.txt ~/.setting written.txt; echo $GREETING")).stdout).toBe(
        "data\nset\nover the APIhello\n",
      );
      expect(await typeInNewTerminal(berth, session, "cat written.txt; echo $((40+2))\n")).toContain("over the API42");
      const running = await api.exec(session.sandboxId, "kill -0 $(cat ~/.sleeping) && echo yes");
      expect(running.stdout === "yes\n" || !freezes).toBe(true);

      expect(await api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`)).toMatchObject({
        status: 200,
        body: { status: "destroyed" },
      });
      expect(await engine.leftovers(session.sandboxId)).toEqual([]);
    });

    // Volumes are mounted by root, on the machine or in the double of a cluster.
    const volumes = machine.root === undefined ? [{ name: "cache", path: "/home/user/cache", mode: "rw" }] : [];
    const listVolumes = async () => ((await berth.api.call("GET", "/api/b2b/volumes")).body as VolumeList).data;
    // A session in the default image, which the next journeys share.
    let kept: Session;
    let defaultImage: string;
    testWith(sameInVariants, "a killed server finds its sessions again, with their volumes", async () => {
      for (const { name } of volumes) expect((await berth.api.call("POST", "/api/b2b/volumes", { name })).status).toBe(201);
      kept = await berth.api.create({ volumes });
      defaultImage = await engine.imageOf(kept.sandboxId);
      await berth.api.exec(kept.sandboxId, "echo kept > note; mkdir -p ~/cache; echo cached > ~/cache/file");
      await berth.kill();
      await berth.start();
      expect((await berth.api.exec(kept.sandboxId, "cat note ~/cache/file")).stdout).toBe("kept\ncached\n");
      const usedBy = [{ sessionId: kept.sessionId, mode: "rw" }];
      expect(await listVolumes()).toMatchObject(volumes.map(({ name }) => ({ name, usedBy })));
    });

    testWith(sameInVariants, "egress follows the template's policy", async () => {
      const ask = (url: string) => berth.api.exec(kept.sandboxId, askThrough(url));
      expect((await ask(world.url)).stdout).toBe("the world");
      expect((await ask("http://169.254.169.254/latest/meta-data")).stdout).toContain("no public address");
    });

    testWith([images.foreign, sameInVariants], "a template gives the same sandbox as on other engines", () =>
      templateJourney(berth, { world, canFork: freezes, ...(user !== undefined && { user }) }),
    );

    // The server looks for dead sandboxes every ten seconds, so other journeys run in the meantime. Their polls need the test's own
    // expect.
    describe.concurrent("at the same time", () => {
      testWith(
        sameInVariants,
        "the session of a sandbox that died is paused with its files, and can be resumed",
        async ({ expect: expectHere }) => {
          await engine.crash(kept.sandboxId);
          const look = async () => (await berth.api.call("GET", `/api/b2b/sessions/${kept.sessionId}`)).body as { status: string };
          await expectHere.poll(look, { timeout: 60_000, interval: 200 }).toMatchObject({ status: "paused" });
          expect((await step(kept, "resume", { autoStartAgent: false })).status).toBe(200);
          expect((await berth.api.exec(kept.sandboxId, "cat note ~/cache/file")).stdout).toBe("kept\ncached\n");
          await berth.api.call("DELETE", `/api/b2b/sessions/${kept.sessionId}`);
          expect(await engine.leftovers(kept.sandboxId)).toEqual([]);
          for (const { volumeId } of await listVolumes())
            expect((await berth.api.call("DELETE", `/api/b2b/volumes/${volumeId}`)).status).toBe(200);
        },
      );

      testWith(
        sameInVariants,
        "a sandbox starts again in the image of its repository, and keeps its own if that one does not start",
        async ({ expect: expectHere }) => {
          const { works, fails } = images;
          const createWith = async (name: string, image: string) => {
            git.addRepository(name, { ".devcontainer.json": JSON.stringify({ image, postCreateCommand: "echo $SHELL_COUNT >> ran" }) });
            const source = { git: { url: git.url(name), token: "secret" } };
            const session = await berth.api.create({ source, envVars: { SHELL_COUNT: "once" } });
            const path = `/api/b2b/sessions/${session.sessionId}`;
            const details = async () => (await berth.api.call("GET", `${path}?expand=details`)).body as { setup: object; image?: string };
            await expectHere.poll(details, { timeout: 60_000 }).not.toMatchObject({ setup: { status: "pending" } });
            expect(await details()).toMatchObject({
              source: { status: "ready", reason: null },
              setup: { status: "finished", exitCode: 0 },
            });
            expect((await berth.api.exec(session.sandboxId, "cat ran")).stdout).toBe("once\n");
            return { session, path, image: (await details()).image };
          };
          const [own, broken] = [await createWith("works", works), await createWith("fails", fails)];
          expect([own.image, await engine.imageOf(own.session.sandboxId)]).toEqual([works, works]);
          expect([broken.image, await engine.imageOf(broken.session.sandboxId)]).toEqual([undefined, defaultImage]);
          expect(await readSetup(berth, own.session)).toContain(`This sandbox runs in the image ${works} of devcontainer.json.`);
          expect(await readSetup(berth, broken.session)).toContain(
            `devcontainer.json: the image ${fails} is not used, because no sandbox could be started in it. ` +
              "The image could not be fetched: its registry does not answer. The log of the server says more.",
          );
          expect((await step(own.session, "pause")).status).toBe(200);
          expect((await step(own.session, "resume", { autoStartAgent: false })).status).toBe(200);
          expect((await berth.api.exec(own.session.sandboxId, "cat ran; echo $SHELL_COUNT")).stdout).toBe("once\nonce\n");
          expect(await engine.imageOf(own.session.sandboxId)).toBe(works);
          // The double has no class of volumes that can be copied.
          if (freezes) {
            const fork = await berth.api.create({ source: { sessionId: own.session.sessionId } });
            expect([await engine.imageOf(fork.sandboxId), (await berth.api.exec(fork.sandboxId, "cat ran")).stdout]).toEqual([
              works,
              "once\n",
            ]);
            await berth.api.call("DELETE", `/api/b2b/sessions/${fork.sessionId}`);
          }
          for (const { sessionId } of [own.session, broken.session]) await berth.api.call("DELETE", `/api/b2b/sessions/${sessionId}`);
          expect(await engine.leftovers(own.session.sandboxId)).toEqual([]);
        },
      );
    });

    describeWith(sameInVariants ?? machine.chromium, "in the browser", () => {
      test("a person edits a file and uses the terminal, before and after pause and resume", async () => {
        await using workspace = await openWorkspace(berth, await shareChromium(), { files: { "a.txt": "before\n" } });
        const { page } = workspace;
        await openFile(page, "a.txt");
        await typeInTerminal(page, "echo changed-in-terminal > a.txt\n");
        await eventually(() => editor(page).innerText()).toContain("changed-in-terminal");
        expect((await step(workspace.session, "pause")).status).toBe(200);
        expect((await step(workspace.session, "resume", { autoStartAgent: false })).status).toBe(200);
        await page.goto(await workspace.link());
        await openFile(page, "a.txt");
        await eventually(() => editor(page).innerText()).toContain("changed-in-terminal");
        await typeInTerminal(page, "echo back-$((40+2))\n");
        await eventually(() => screenText(page)).toContain("back-42");
      });
    });

    testWith(sameInVariants, "berth down ends every sandbox and keeps the files; with --delete it leaves nothing behind", async () => {
      await using neighbour = await createNeighbour(engine.env);
      const running = await berth.api.create();
      await berth.api.exec(running.sandboxId, "echo kept > note");
      const paused = await berth.api.create();
      expect((await step(paused, "pause")).status).toBe(200);
      await berth.kill();

      const ended = await runCli(berth, "down", "--yes", "--json");
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(ended.stdout)).toMatchObject({ ended: { orphans: 0, failures: [] }, files: null });
      await berth.start();
      expect((await berth.api.call("GET", `/api/b2b/sessions/${running.sessionId}`)).body).toMatchObject({ status: "paused" });
      expect((await step(running, "resume", { autoStartAgent: false })).status).toBe(200);
      expect((await berth.api.exec(running.sandboxId, "cat note")).stdout).toBe("kept\n");

      const deleted = await runCli(berth, "down", "--yes", "--json", "--delete");
      expect(deleted).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(deleted.stdout)).toMatchObject({ server: expect.any(Number), ended: { destroyed: 2, failures: [] } });
      for (const { sandboxId } of [running, paused]) expect(await engine.leftovers(sandboxId)).toEqual([]);
      expect(existsSync(berth.dataDir)).toBe(false);
      expect(await neighbour.condition()).toBe("running");
    });
  });
}

// Returns the terminal's output up to the number 42, which the shell must calculate.
async function typeInNewTerminal(berth: Berth, { sandboxId }: Session, text: string): Promise<string> {
  const path = `/sandboxes/${sandboxId}/terminals`;
  const { id } = (await berth.api.call("POST", path, { cols: 80, rows: 24, command: ["/bin/sh"] })).body as Terminal;
  return readTerminal(berth, `${path}/${id}`, { typed: text, until: "42" });
}

// The output of the Setup terminal, without line breaks.
async function readSetup(berth: Berth, { sandboxId }: Session): Promise<string> {
  const path = `/sandboxes/${sandboxId}/terminals`;
  const { terminals } = (await berth.api.call("GET", path)).body as { terminals: Terminal[] };
  const { id } = terminals.find(({ title }) => title === "Setup")!;
  return (await readTerminal(berth, `${path}/${id}`, { typed: "", until: "Setup is done." })).replaceAll("\r\n", "");
}

async function readTerminal({ url, key }: Berth, path: string, { typed, until }: { typed: string; until: string }): Promise<string> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, { headers: { authorization: `Bearer ${key}` } });
  socket.once("open", () => socket.send(Buffer.from(typed)));
  let output = "";
  for await (const [data, isBinary] of on(socket, "message", { close: ["close"] }) as AsyncIterable<[Buffer, boolean]>) {
    if (isBinary) output += data.toString();
    if (output.includes(until)) break;
  }
  socket.terminate();
  return output;
}

// A sandbox of another installation on the same engine, without a server.
async function createNeighbour(env: Record<string, string>): Promise<AsyncDisposable & { condition(): Promise<string> }> {
  await using stack = new AsyncDisposableStack();
  const dataDir = stack.adopt(mkdtempSync(join(tmpdir(), "berth-neighbour-")), (path) => rmSync(path, { recursive: true, force: true }));
  const installation = `neighbour-${randomBytes(4).toString("hex")}`;
  const { config } = readConfig({ ...env, BERTH_DATA_DIR: dataDir, BERTH_INSTALLATION: installation, BERTH_KUBERNETES_WARM_POOLS: "" });
  const driver = stack.use(await openDriver(config, silentLog));
  const id = newId("sbx", Date.now());
  const signal = () => AbortSignal.timeout(60_000);
  stack.defer(() => driver.destroy(id, signal()));
  await driver.create({ id, template: DEFAULT_TEMPLATE, tokenHash: createHash("sha256").update("token").digest("hex") }, signal());
  const open = stack.move();
  return { condition: () => driver.inspect(id, signal()), [Symbol.asyncDispose]: () => open.disposeAsync() };
}
