import type { V1Affinity, V1Volume, V1VolumeMount } from "@kubernetes/client-node";
import type { VolumeId } from "@berth/contract";
import type { SandboxVolume } from "../../driver.ts";
import { mountsLabel, volumeNameOf } from "../cluster/names.ts";

// The part of a pod that mounts the volumes of its partner.

const HOME = "/home/user/";

export const describeVolumes = (volumes: readonly SandboxVolume[]): V1Volume[] =>
  volumes.map(({ id }) => ({ name: volumeNameOf(id), persistentVolumeClaim: { claimName: volumeNameOf(id) } }));

export const describeMounts = (volumes: readonly SandboxVolume[]): V1VolumeMount[] =>
  volumes.map(({ id, path, mode }) => ({ name: volumeNameOf(id), mountPath: path, readOnly: mode === "ro" }));

export const mountLabels = (volumes: readonly SandboxVolume[] = []): Record<string, string> =>
  Object.fromEntries(volumes.map(({ id }) => [mountsLabel(id), ""]));

// The list is never absent, because a merge patch would keep the old one.
export const describeAffinity = (sameNodeAs: readonly VolumeId[]): V1Affinity => ({
  podAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: sameNodeAs.map((id) => ({
      labelSelector: { matchExpressions: [{ key: mountsLabel(id), operator: "Exists" }] },
      topologyKey: "kubernetes.io/hostname",
    })),
  },
});

// Relative to the home.
export const pathsInHome = (volumes: readonly SandboxVolume[]): string[] =>
  volumes.filter(({ path }) => path.startsWith(HOME)).map(({ path }) => path.slice(HOME.length));

// Creates the folders that its arguments name. Whatever the sandbox has put in their place is moved away: a link could lead anywhere,
// and a file would keep the pod from starting.
export const mountPointScript = `
set -e
for path; do
  at=$HOME
  IFS=/
  for part in $path; do
    at=$at/$part
    if [ -L "$at" ] || { [ -e "$at" ] && [ ! -d "$at" ]; }; then mv -- "$at" "$at.moved-$(date +%s)"; fi
    [ -d "$at" ] || mkdir -- "$at"
  done
done
`;
