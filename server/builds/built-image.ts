import { createHash, type Hash } from "node:crypto";
import type { Template } from "@berth/contract";
import { BUILT_PREFIX } from "../drivers/oci/images/fetching/image-source.ts";

// The name of an image that was built for a repository, by what it was built from.
export const builtImageName = (digest: string): string => `${BUILT_PREFIX}${digest.slice(0, 32)}`;

export const isBuiltImage = (image: string): boolean => image.startsWith(BUILT_PREFIX);

// Updated with the archive, it identifies what an image is built from. It includes the template, because a build that can reach other hosts
// may have another result.
export const buildHash = ({ name, egress }: Pick<Template, "name" | "egress">): Hash =>
  createHash("sha256").update(JSON.stringify([name, egress]));
