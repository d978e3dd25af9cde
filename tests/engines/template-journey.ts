import { expect } from "vitest";
import type { Berth } from "../support/servers/berth.ts";
import { askThrough, type World } from "./world.ts";

// One template has the same result on every driver. Its image has these variables.
export const IMAGE_ENV = { FROM_IMAGE: "image", OVERRIDDEN: "image", PATH: "/opt/tools/bin:/usr/local/bin:/usr/bin:/bin" };

const IMAGE_USER = "1234";

export const imageConfig = {
  Env: Object.entries(IMAGE_ENV).map(([name, value]) => `${name}=${value}`),
  WorkingDir: "/srv",
  User: IMAGE_USER,
};

export const sharedTemplate = (image: string) => ({
  tools: {
    image,
    env: { FROM_TEMPLATE: "template", OVERRIDDEN: "template" },
    memoryMb: 768,
    diskMb: 128,
    egress: { policy: "none" },
    maxEgress: { policy: "public" },
    setup: "echo from $FROM_IMAGE and $FROM_TEMPLATE > setup.txt",
    agent: null,
  },
});

export interface TemplateJourney {
  world: World;
  canFork: boolean;
  // The id of the user inside: 1000 on Docker, that of the image (IMAGE_USER) on oci. The double of Kubernetes has no users.
  user?: string;
}

export async function templateJourney(berth: Berth, { world, canFork, user }: TemplateJourney): Promise<void> {
  const { api } = berth;
  const session = await api.create({ template: "tools", envVars: { FROM_SESSION: "session" } });
  const sh = async (command: string, { sandboxId } = session) => (await api.exec(sandboxId, command)).stdout;
  const path = `/api/b2b/sessions/${session.sessionId}`;
  await expect
    .poll(async () => (await api.call("GET", `${path}?expand=details`)).body, { timeout: 60_000 })
    .toMatchObject({ template: "tools", setup: { status: "finished", exitCode: 0 } });
  expect(await sh("cat setup.txt; echo $FROM_SESSION $OVERRIDDEN")).toBe("from image and template\nsession template\n");
  // Commands start in the workspace, whatever the image says.
  const workspace = "$(cd /workspace 2> /dev/null && pwd || pwd)";
  expect(await sh(`[ "$PWD" = "${workspace}" ] && echo in the workspace; echo $PATH`)).toMatch(/^in the workspace\n\/opt\/tools\/bin:/);
  if (user !== undefined) expect(await sh("id -u")).toBe(`${user}\n`);
  expect(await sh(askThrough(world.url))).not.toContain("the world");
  const open = await api.create({ template: "tools", egress: { policy: "public" } });
  expect(await sh(askThrough(world.url), open)).toBe("the world");
  await api.call("DELETE", `/api/b2b/sessions/${open.sessionId}`);

  expect((await api.call("POST", `${path}/pause`)).status).toBe(200);
  expect((await api.call("POST", `${path}/resume`, { autoStartAgent: false })).status).toBe(200);
  expect(await sh("echo $FROM_IMAGE $OVERRIDDEN $FROM_SESSION")).toBe("image template session\n");
  if (canFork) {
    const fork = await api.create({ source: { sessionId: session.sessionId } });
    expect(await sh("cat setup.txt; echo $FROM_IMAGE", fork)).toBe("from image and template\nimage\n");
    await api.call("DELETE", `/api/b2b/sessions/${fork.sessionId}`);
  }
  expect((await api.call("DELETE", path)).status).toBe(200);
}
