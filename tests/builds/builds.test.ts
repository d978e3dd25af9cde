import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Session, SessionRead } from "@berth/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startGitServer, type GitServer } from "../support/git/git-server.ts";
import { describeWith } from "../support/machine.ts";
import { startBerth, type Berth } from "../support/servers/berth.ts";
import { buildSandboxes, buildsMissing } from "./build-sandboxes.ts";
import { devcontainerFiles } from "./devcontainer.ts";

const SMALL = { allowBuilds: true, memoryMb: 512, pids: 128, diskMb: 256 };
const USER = "RUN echo dev:x:1234:1234::/home/dev:/bin/sh >> /etc/passwd";
const WAIT = { timeout: 240_000, interval: 200 };

describeWith(buildsMissing, "builds of a repository's devcontainer.json", { timeout: 300_000 }, () => {
  let git: GitServer;
  let berth: Berth;
  let folder: string;

  beforeAll(async () => {
    git = await startGitServer(null);
    folder = mkdtempSync(join(tmpdir(), "berth-builds-"));
    const templates = join(folder, "templates.json");
    writeFileSync(templates, JSON.stringify({ default: { allowBuilds: true }, small: SMALL }));
    berth = await startBerth({ BERTH_DRIVER: "oci", BERTH_TEMPLATES: templates, BERTH_EGRESS_ALLOW: git.address });
  });
  afterAll(async () => {
    await berth[Symbol.asyncDispose]();
    await git[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const create = (repository: string, template = "default") =>
    berth.api.create({ template, source: { git: { url: git.url(repository), token: "unused" } } });
  const act = (session: Session, action: string) => berth.api.call("POST", `/api/b2b/sessions/${session.sessionId}/${action}`);
  // Replaces the lines of the Dockerfile after BusyBox is installed.
  const withLines = (lines: string, more: object = {}) => {
    const files = devcontainerFiles({ build: { dockerfile: "Dockerfile", context: ".." }, ...more });
    const [first] = files[".devcontainer/Dockerfile"]!.toString().split("ARG COLOUR");
    return { ...files, ".devcontainer/Dockerfile": `${first}${lines}\n` };
  };
  const detailsOf = async ({ sessionId }: Session) =>
    (await berth.api.call("GET", `/api/b2b/sessions/${sessionId}?expand=details`)).body as SessionRead;
  const setUp = async (session: Session) => {
    await expect.poll(async () => (await detailsOf(session)).setup?.status, WAIT).toBe("finished");
    return detailsOf(session);
  };
  const outputOf = async (session: Session, command: string) => (await berth.api.exec(session.sandboxId, command)).stdout;
  const logOf = (session: Session) => outputOf(session, "cat /home/user/.berth/setup/build.log");
  const sandboxes = () => buildSandboxes(berth);

  test("sessions of one repository share a build, and start again in its image", async () => {
    git.addRepository("shop", devcontainerFiles());
    const sessions = await Promise.all([create("shop"), create("shop")]);
    const [first, second] = await Promise.all(sessions.map(setUp));
    expect(first).toMatchObject({ setup: { exitCode: 0 }, image: expect.stringMatching(/^localhost\/berth-build:/) });
    expect(second!.image).toBe(first!.image);
    expect(berth.output().match(/"msg":"image\.built"/g)).toHaveLength(1);
    const [session] = sessions;
    expect(await outputOf(session, "cat /etc/greeting /etc/colour; echo $GREETED $SHOP_MODE")).toBe(
      "hello dev at /home/dev, based\ngreen\nyes development\n",
    );
    expect(await outputOf(session, "cat steps")).toBe("created\nset up as dev\nattached\n");
    expect(await logOf(session)).toContain("STEP 2/5: ADD root.tar /");
    await expect.poll(sandboxes, WAIT).toEqual([]);
  });

  test("a build that fails leaves the session as it is, and the Setup terminal says why", async () => {
    git.addRepository("broken", devcontainerFiles({ build: { dockerfile: "Dockerfile", context: ".." } }));
    const session = await create("broken");
    const details = await setUp(session);
    expect(details).toMatchObject({ setup: { exitCode: 0 } });
    expect(details.image).toBeUndefined();
    expect(await logOf(session)).toContain('building at STEP "RUN false"');
    expect(await outputOf(session, "cat steps; ls /etc/greeting 2>&1")).toMatch(/^created\nset up as user\nattached\n.*No such file/s);
    await expect.poll(sandboxes, WAIT).toEqual([]);
  });

  test("a build ends with its session, and a server that was killed leaves none behind", async () => {
    git.addRepository("slow", withLines("RUN sleep 600"));
    const session = await create("slow");
    await expect.poll(() => logOf(session), WAIT).toContain("RUN sleep 600");
    const [left] = sandboxes();
    await berth.kill();
    await berth.start();
    // The session's setup continues, with a build of its own.
    await expect.poll(() => sandboxes().filter((id) => id !== left), WAIT).toHaveLength(1);
    expect(sandboxes()).not.toContain(left);
    await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
    await expect.poll(sandboxes, WAIT).toEqual([]);
    expect(readdirSync(join(berth.dataDir, "builds/egress"))).toEqual([]);
  });

  test("a build that exhausts processes, disk or log ends by itself, and so does one whose image is unusable", async () => {
    const repositories = {
      processes: withLines("RUN for i in $(seq 1000); do sleep 600 & done"),
      disk: withLines("RUN dd if=/dev/zero of=/large bs=1M"),
      log: withLines(`RUN yes "$(head -c 1000 /dev/zero | tr '\\0' x)" | head -c 67108864; echo the last line; false`),
      // No such user: the store refuses the image.
      user: withLines("RUN true", { features: {}, remoteUser: "nobody-here" }),
    };
    const failures = () => berth.output().split('"msg":"image.build_failed"').length;
    const before = failures();
    for (const [name, files] of Object.entries(repositories)) git.addRepository(name, files);
    const started = await Promise.all(Object.keys(repositories).map((name) => create(name, "small")));
    for (const session of started) expect(await setUp(session)).toMatchObject({ setup: { status: "finished", exitCode: 0 } });
    const logs = await Promise.all(started.map(logOf));
    // The shell says that it cannot fork, or buildah itself cannot start a thread.
    expect(logs[0]).toMatch(/can't fork|subprocess exited with status 2/);
    expect(logs[1]).toContain("No space left on device");
    expect(logs[2]!.length).toBeLessThan(1.2 * 2 ** 20);
    expect(logs[2]).toMatch(/KiB of the log are left out\]\n[^]*the last line\n/);
    for (const session of started) {
      expect((await detailsOf(session)).image).toBeUndefined();
      expect(await outputOf(session, "cat steps")).toContain("set up as user");
    }
    // Each fails once: a failed build is not retried.
    expect(failures() - before).toBe(4);
    expect(berth.output()).toContain('it runs as the user \\"nobody-here\\", who is not in it');
    await expect.poll(sandboxes, WAIT).toEqual([]);
    for (const session of started) await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
  });

  test("a fork bomb keeps to its own limits, and ends with the session", async () => {
    git.addRepository("bomb", withLines("RUN bomb() { bomb | bomb & }; bomb; sleep 600"));
    const session = await create("bomb", "small");
    await expect.poll(() => logOf(session), WAIT).toContain("bomb; sleep 600");
    await expect.poll(() => outputOf(session, "echo still here"), WAIT).toBe("still here\n");
    await berth.api.call("DELETE", `/api/b2b/sessions/${session.sessionId}`);
    await expect.poll(sandboxes, WAIT).toEqual([]);
  });

  test("a link in the context to a file of the machine exposes nothing of that file", async () => {
    const repository = withLines(
      `LABEL devcontainer.metadata='[{"remoteUser": "dev"}]'\nCOPY .devcontainer /all\n${USER}\nRUN mkdir /found; cat /all/shadow /all/folder/shadow > /found/shadow 2>&1 || true`,
    );
    // The label of the image names the user.
    const config = { build: { dockerfile: "Dockerfile", context: ".." }, postCreateCommand: "id -un > steps" };
    git.addRepository("links", {
      ...repository,
      ".devcontainer/devcontainer.json": JSON.stringify(config),
      ".devcontainer/shadow": { linkTo: "/etc/shadow" },
      ".devcontainer/folder": { linkTo: "/etc" },
    });
    const session = await create("links");
    expect(await setUp(session)).toMatchObject({ image: expect.stringContaining("berth-build") });
    expect(await outputOf(session, "cat /found/shadow")).not.toContain("root:");
    expect(await outputOf(session, "cat steps")).toBe("dev\n");
  });

  test("a session that is paused or forked while its image is built gets the image, and the fork does not wait for it", async () => {
    git.addRepository("steady", withLines(`${USER}\nRUN sleep 8`));
    const session = await create("steady");
    await expect.poll(() => logOf(session), WAIT).toContain("sleep 8");
    const fork = await berth.api.create({ source: { sessionId: session.sessionId } });
    expect(await outputOf(fork, "ls -a")).toContain(".devcontainer");
    expect((await act(session, "pause")).status).toBe(200);
    await expect.poll(sandboxes, WAIT).toEqual([]);
    expect((await act(session, "resume")).status).toBe(200);
    expect(await setUp(session)).toMatchObject({ setup: { exitCode: 0 }, image: expect.stringContaining("berth-build") });
    expect(await outputOf(session, "cat steps")).toBe("created\nset up as dev\nattached\n");
    expect((await detailsOf(fork)).image).toBeUndefined();
  });
});
