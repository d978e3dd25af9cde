import { AppError, type FieldFault, type Template, type VolumeMount } from "@berth/contract";
import type { Driver, DriverVolumes } from "../../drivers/driver.ts";

// The template of a session that mounts volumes names them, so that it has another hash than the sandboxes of the pool.
export function withVolumes(
  template: Template,
  requested: readonly VolumeMount[] | undefined,
  driver: Pick<Driver, "name" | "volumes">,
): Template {
  const volumes = mountsOf(template, requested);
  if (volumes.length === 0) return template;
  if (!driver.volumes) throw new AppError("volumes_unsupported", { message: unsupported(driver) });
  const details = findMountFaults(volumes, driver.volumes.paths);
  if (details.length > 0) throw new AppError("validation_failed", { details });
  return { ...template, volumes };
}

export const unsupported = ({ name }: Pick<Driver, "name">) => `This server cannot mount volumes, because its driver is ${name}`;

// The volumes of a session: those of the create, and those of its template with other names.
const mountsOf = (template: Pick<Template, "volumes">, requested: readonly VolumeMount[] = []): VolumeMount[] => [
  ...requested,
  ...(template.volumes ?? []).filter(({ name }) => !requested.some((mount) => mount.name === name)),
];

// The faults that the schema cannot express.
export function findMountFaults(mounts: readonly VolumeMount[], paths: DriverVolumes["paths"]): FieldFault[] {
  const faults: FieldFault[] = [];
  for (const [i, { name, path }] of mounts.entries()) {
    const earlier = mounts.slice(0, i);
    if (earlier.some((other) => other.name === name)) faults.push({ field: `volumes.${i}.name`, message: "Must be unique" });
    if (earlier.some((other) => overlap(other.path, path)))
      faults.push({ field: `volumes.${i}.path`, message: "Must not be the path of another volume, or above or below it" });
    if (paths === "home" && !path.startsWith("/home/user/"))
      faults.push({
        field: `volumes.${i}.path`,
        message: "Must be below /home/user, because this server runs sandboxes as plain processes",
      });
  }
  return faults;
}

const overlap = (a: string, b: string): boolean => `${a}/`.startsWith(`${b}/`) || `${b}/`.startsWith(`${a}/`);
