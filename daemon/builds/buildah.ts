import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DockerfileBuild } from "./build-plan.ts";
import { imageUsers, type ImageUsers } from "./image-users.ts";
import type { RunTool } from "./run-tool.ts";

export interface Buildah {
  build(tag: string, dockerfile: string, context: string, options?: Pick<DockerfileBuild, "args" | "target">): Promise<void>;
  usersOf(image: string): Promise<ImageUsers>;
  push(image: string, target: string): Promise<void>;
}

// The programs of a build have only these capabilities. buildah itself needs more, to mount and to change its root.
const CAPABILITIES = "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETFCAP SETGID SETUID SYS_CHROOT".split(" ");
const MAX_SHOWN_CHARS = 200;

export function createBuildah(run: RunTool, folder: string): Buildah {
  const policy = join(folder, "policy.json");
  writeFileSync(policy, '{"default": [{"type": "insecureAcceptAnything"}]}');
  const trust = ["--signature-policy", policy];
  return {
    async build(tag, dockerfile, context, { args, target } = { args: {}, target: null }) {
      const named = [
        ...Object.entries(args).map(([name, value]) => `--build-arg=${name}=${value}`),
        ...(target === null ? [] : [`--target=${target}`]),
      ];
      const isolation = ["--isolation", "chroot", "--security-opt", "seccomp=unconfined", "--cap-drop=all"];
      const capabilities = CAPABILITIES.map((name) => `--cap-add=CAP_${name}`);
      const shortened = named.map((word) => (word.length > MAX_SHOWN_CHARS ? `${word.slice(0, MAX_SHOWN_CHARS)}…` : word));
      const shown = ["buildah", "build", ...shortened, "-f", dockerfile.replace(`${folder}/`, ""), context.replace(`${folder}/`, "")];
      await run("buildah", ["build", ...trust, ...isolation, ...capabilities, ...named, "-t", tag, "-f", dockerfile, "--", context], {
        shown,
      });
    },
    async usersOf(image) {
      if (!image.startsWith("localhost/")) await run("buildah", ["pull", ...trust, image], { shown: ["buildah", "pull", image] });
      return imageUsers(await run("buildah", ["inspect", "--type", "image", image], { capture: true }));
    },
    async push(image, target) {
      await run("buildah", ["push", "--quiet", ...trust, image, target], { capture: true });
    },
  };
}

// The variables of all tools that work on images, because the sandbox has none of the machine's settings. With the driver `overlay`, an
// image of many layers is not copied once for each layer.
export function writeSettings(folder: string): Record<string, string> {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  return {
    CONTAINERS_CONF: file("containers.conf", ""),
    CONTAINERS_STORAGE_CONF: file(
      "storage.conf",
      `[storage]\ndriver = "overlay"\ngraphroot = "${folder}/storage"\nrunroot = "${folder}/run"\n`,
    ),
    CONTAINERS_REGISTRIES_CONF: file("registries.conf", 'unqualified-search-registries = ["docker.io"]\n'),
    TMPDIR: join(folder, "tmp"),
    HOME: folder,
    XDG_RUNTIME_DIR: join(folder, "tmp"),
  };
}
