import { isAbsolute } from "node:path";
import { AppError } from "@berth/contract";

// The source of an image.
export interface ImageSource {
  // For skopeo, such as `docker://node:24`.
  reference: string;
  // The same with another digest instead of the tag. Absent: the source has one image only, which cannot change while it is read.
  at?(digest: string): string;
  // Whether the registry is on this machine, where it needs no certificate.
  isLoopback: boolean;
}

const FILE = /^(oci|docker-archive):([^:]+)(:.+)?$/;
const REGISTRY = /^([a-z0-9][a-z0-9._-]*(?::\d{1,5})?\/)?[a-z0-9][a-z0-9._/-]*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;
// Names of images that this server has built. No registry has them.
export const BUILT_PREFIX = "localhost/berth-build:";
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?\//;

// Parses the name of an image as templates have it: a name in a registry, `oci:/folder:tag` or `docker-archive:/file`.
export function parseImageName(name: string): ImageSource {
  const file = FILE.exec(name);
  if (file && isAbsolute(file[2]!)) return { reference: name, isLoopback: false };
  if (name.startsWith(BUILT_PREFIX))
    throw new AppError("sandbox_failed", {
      message: "A server has built this image for a repository, and it is not on this machine: `berth template build` builds it again",
    });
  if (!REGISTRY.test(name) || /^(oci|docker-archive):/.test(name))
    throw new AppError("sandbox_failed", {
      message: "The image could not be fetched: its name is not valid",
      cause: new Error(`${name} is neither a name in a registry nor oci: or docker-archive: with an absolute path`),
    });
  return {
    reference: `docker://${name}`,
    // A reference cannot have both a tag and a digest for skopeo.
    at: (digest) => `docker://${name.replace(/@.*$/, "").replace(/:[^:/]+$/, "")}@${digest}`,
    isLoopback: LOOPBACK.test(name),
  };
}
