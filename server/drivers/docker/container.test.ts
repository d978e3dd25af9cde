import { newId } from "@berth/contract";
import { expect, test } from "vitest";
import { DEFAULT_TEMPLATE } from "../../templates.ts";
import { seccompProfile } from "../host/isolation/seccomp.ts";
import { coverVolumes, describeContainer, LABEL, type ContainerSettings } from "./container.ts";

const spec = { id: newId("sbx", 1), template: DEFAULT_TEMPLATE, tokenHash: "ab".repeat(32) };
const settings: ContainerSettings = {
  installation: "suite",
  image: "berth-sandbox",
  uid: 1000,
  folders: { control: "/d/run", egress: "/d/egress", hosts: "/d/hosts", workspace: "/d/workspace", home: "/d/home", volumes: "/d/volumes" },
  runtimeDir: "/runtime",
};

test("the container has every isolation setting", () => {
  expect(describeContainer(spec, settings)).toMatchObject({
    User: "1000:1000",
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: "none",
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges:true", `seccomp=${JSON.stringify(seccompProfile({ honoursErrno: true }))}`],
      Privileged: false,
      IpcMode: "private",
      CgroupnsMode: "private",
      Memory: 2048 * 1024 * 1024,
      MemorySwap: 2048 * 1024 * 1024,
      NanoCpus: 1e9,
      CpuShares: 128,
      PidsLimit: 512,
      RestartPolicy: { Name: "no" },
      LogConfig: { Config: { "max-size": "1m" } },
    },
  });
});

test("the first process is the shell that reaps orphans and starts the daemon from its snapshot", () => {
  expect(describeContainer(spec, settings)).toMatchObject({ Entrypoint: ["/opt/berth/lib/sh", "/opt/berth/init.sh"], Cmd: [] });
});

test("only the sandbox's folders and terminals are mounted, and only its own folders are writable", () => {
  const { Mounts } = describeContainer(spec, settings).HostConfig as { Mounts: { Target: string; ReadOnly?: boolean }[] };
  expect(Object.fromEntries(Mounts.map(({ Target, ReadOnly = false }) => [Target, ReadOnly]))).toEqual({
    "/workspace": false,
    "/home/user": false,
    "/dev/pts": false,
    "/run/berth": false,
    "/run/berth-egress": true,
    "/etc/hosts": true,
    "/opt/berth": true,
  });
});

test("the number of terminals is limited, except on a runtime that has its own", () => {
  const terminals = (runtime?: string) =>
    describeContainer({ ...spec, template: { ...DEFAULT_TEMPLATE, ...(runtime && { runtime }) } }, settings).HostConfig.Mounts.filter(
      ({ Target }) => Target === "/dev/pts",
    );
  expect(JSON.stringify(terminals())).toContain("max=64");
  expect(terminals("runsc")).toEqual([]);
});

test("mounts below a folder of the host are not visible", () => {
  const { Mounts } = describeContainer(spec, settings).HostConfig as { Mounts: { Type?: string; BindOptions?: object }[] };
  const binds = Mounts.filter(({ Type }) => Type === "bind");
  expect(binds).toHaveLength(4);
  for (const { BindOptions } of binds) expect(BindOptions).toEqual({ Propagation: "rprivate", NonRecursive: true });
});

test("the daemon is not mounted if the image contains it", () => {
  expect(JSON.stringify(describeContainer(spec, { ...settings, runtimeDir: null }))).not.toContain('"Target":"/opt/berth"');
});

test("a tmpfs covers each volume that the image declares, except where the sandbox has its own mount", () => {
  const { Mounts } = coverVolumes(describeContainer(spec, settings), ["/data/", "/workspace/", "/tmp"], 8).HostConfig;
  expect(Mounts).toHaveLength(describeContainer(spec, settings).HostConfig.Mounts.length + 1);
  expect(Mounts.at(-1)).toEqual({ Type: "tmpfs", Target: "/data", TmpfsOptions: { SizeBytes: 8 * 1024 * 1024, Mode: 0o1777 } });
});

test("the fingerprint changes with every setting of the container", () => {
  const of = (template: Partial<typeof DEFAULT_TEMPLATE>) =>
    describeContainer({ ...spec, template: { ...DEFAULT_TEMPLATE, ...template } }, settings).Labels[LABEL.spec];
  expect(of({})).toBe(of({}));
  expect(new Set([of({}), of({ memoryMb: 512 }), of({ image: "other" }), of({ runtime: "runsc" }), of({ tmpMb: 1 })]).size).toBe(5);
});
