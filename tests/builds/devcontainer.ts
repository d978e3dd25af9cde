import { readFileSync } from "node:fs";
import { folders } from "../support/registry/images.ts";
import { tarFile, type TarEntry } from "../support/registry/tar.ts";

// A repository with a devcontainer.json of the usual kind: a Dockerfile with arguments and a stage, and two features in local folders, of
// which the first one has to be installed last. The image has BusyBox and nothing else.
export function devcontainerFiles(more: object = {}): Record<string, string | Buffer> {
  return {
    ".devcontainer/devcontainer.json": `{
      // People write comments.
      "build": ${JSON.stringify({ dockerfile: "Dockerfile", context: "..", args: { COLOUR: "green" }, target: "tools" })},
      "features": { "./features/greeting": { "greeting-text": "hello" }, "./features/base": {} },
      "remoteUser": "dev",
      "remoteEnv": { "SHOP_MODE": "development" },
      "onCreateCommand": "echo created >> steps",
      "postCreateCommand": "echo set up as $(id -un) >> steps",
      "postAttachCommand": "echo attached >> steps",
      "mounts": ["source=cache,target=/home/user/.cache,type=volume"],
      ${JSON.stringify({ customizations: {}, ...more }).slice(1, -1)}
    }`,
    ".devcontainer/Dockerfile": DOCKERFILE,
    ".devcontainer/features/greeting/devcontainer-feature.json": JSON.stringify({
      id: "greeting",
      version: "1.0.0",
      options: { "greeting-text": { type: "string", default: "hey" } },
      installsAfter: ["base"],
      containerEnv: { GREETED: "yes" },
    }),
    ".devcontainer/features/greeting/install.sh": `#!/bin/sh\nset -e\necho "$GREETING_TEXT $_REMOTE_USER at $_REMOTE_USER_HOME, $(cat /etc/base)" > /etc/greeting\n`,
    ".devcontainer/features/base/devcontainer-feature.json": JSON.stringify({ id: "base", version: "1.0.0" }),
    ".devcontainer/features/base/install.sh": "#!/bin/sh\nset -e\necho based > /etc/base\n",
    "root.tar": rootTar(),
  };
}

const DOCKERFILE = `FROM scratch AS tools
ADD root.tar /
RUN ["/bin/busybox", "--install", "-s", "/bin"]
ARG COLOUR=red
RUN echo $COLOUR > /etc/colour && echo dev:x:1234:1234::/home/dev:/bin/sh >> /etc/passwd && mkdir -p /home/dev && chown 1234:1234 /home/dev
FROM tools
RUN false
`;

function rootTar(): Buffer {
  const entries: TarEntry[] = [
    ...folders("bin", "etc", "tmp", "usr"),
    { path: "bin/busybox", content: readFileSync("/bin/busybox"), mode: 0o755 },
    { path: "etc/passwd", content: "root:x:0:0::/root:/bin/sh\n" },
  ];
  return tarFile(entries);
}
