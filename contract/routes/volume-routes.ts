import { CreateVolume, Volume, VolumeList } from "../schemas/volume.ts";
import { route } from "./route.ts";

export const VOLUME_ROUTES = {
  createVolume: route({
    method: "POST",
    path: "/api/b2b/volumes",
    tag: "Volumes",
    summary: "Create a volume",
    description:
      "Creates a named disk for caches or datasets. It is empty; a session that mounts it `rw` fills it, and later sessions read it. It takes space as it is filled.",
    idempotent: true,
    body: { schema: CreateVolume, required: true },
    success: { status: 201, description: "The volume.", schema: Volume },
    errors: ["validation_failed", "volume_exists", "volume_quota", "volumes_unsupported", "body_too_large", "unsupported_media_type"],
  }),
  listVolumes: route({
    method: "GET",
    path: "/api/b2b/volumes",
    tag: "Volumes",
    summary: "List volumes",
    description: "Returns all of your volumes, with the sessions that mount them.",
    success: { status: 200, description: "The volumes.", schema: VolumeList },
    errors: [],
  }),
  getVolume: route({
    method: "GET",
    path: "/api/b2b/volumes/{id}",
    tag: "Volumes",
    summary: "Get a volume",
    description: "Returns one volume, with the sessions that mount it.",
    success: { status: 200, description: "The volume.", schema: Volume },
    errors: ["volume_not_found"],
  }),
  deleteVolume: route({
    method: "DELETE",
    path: "/api/b2b/volumes/{id}",
    tag: "Volumes",
    summary: "Delete a volume",
    description:
      "Deletes a volume with its files. Destroy the sessions that mount it first: a paused session counts too. A request body is ignored.",
    success: { status: 200, description: "The deleted volume.", schema: Volume },
    errors: ["volume_not_found", "volume_in_use", "session_elsewhere", "sandbox_failed", "body_too_large"],
  }),
} as const;
