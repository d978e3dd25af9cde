import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { describeContainer, LABEL, type ContainerSettings } from "./container.ts";

const spec = { id: newId("sbx", 1), template: DEFAULT_TEMPLATE, tokenHash: "ab".repeat(32) };
const settings: ContainerSettings = {
  installation: "suite",
  image: "berth-sandbox",
  uid: 1000,
  folders: { control: "/d/run", egress: "/d/egress", workspace: "/d/workspace", home: "/d/home" },
  runtimeDir: "/runtime",
};

test("every wall is there", () => {
  expect(describeContainer(spec, settings)).toMatchObject({
    User: "1000:1000",
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges:true"],
      Privileged: false,
      IpcMode: "private",
      CgroupnsMode: "private",
      Memory: 2048 * 1024 * 1024,
      MemorySwap: 2048 * 1024 * 1024,
      NanoCpus: 1e9,
      PidsLimit: 512,
      RestartPolicy: { Name: "no" },
      LogConfig: { Config: { "max-size": "1m" } },
    },
  });
});

test("only the four folders of the sandbox are mounted, and only its own are writable", () => {
  const { Mounts } = (describeContainer(spec, settings) as unknown as { HostConfig: { Mounts: { Target: string; ReadOnly?: boolean }[] } })
    .HostConfig;
  expect(Object.fromEntries(Mounts.map(({ Target, ReadOnly = false }) => [Target, ReadOnly]))).toEqual({
    "/workspace": false,
    "/home/user": false,
    "/run/berth": false,
    "/run/berth-egress": true,
    "/opt/berth": true,
  });
});

test("an image that has the daemon needs no mount of it", () => {
  expect(JSON.stringify(describeContainer(spec, { ...settings, runtimeDir: null }))).not.toContain('"Target":"/opt/berth"');
});

test("the fingerprint changes with whatever makes another container", () => {
  const of = (template: Partial<typeof DEFAULT_TEMPLATE>) =>
    describeContainer({ ...spec, template: { ...DEFAULT_TEMPLATE, ...template } }, settings).Labels[LABEL.spec];
  expect(of({})).toBe(of({}));
  expect(new Set([of({}), of({ memoryMb: 512 }), of({ image: "other" }), of({ runtime: "runsc" }), of({ tmpMb: 1 })]).size).toBe(5);
});
