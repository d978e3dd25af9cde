import type { Template } from "@berth/contract";
import type { Log } from "../log.ts";
import { DEFAULT_TEMPLATE, type Templates } from "../templates.ts";
import type { DriverName } from "./driver.ts";

// How each driver treats the fields of a template, so that no field is silently ignored. docs/templates.md shows the same table, and a test
// compares both.
// - yes: it has the same effect as on the other drivers.
// - refused: the server does not start with it.
// - any other text describes the difference. The server logs it at start.
export type Support = string;

type Row = Record<DriverName, Support>;

const everywhere: Row = { oci: "yes", docker: "yes", kubernetes: "yes", process: "yes" };
const NO_BUILDS = "nothing is built, and the Setup terminal says so";
const limit: Row = { ...everywhere, process: "not limited" };
const ociOnly: Row = { oci: "yes", docker: "refused", kubernetes: "refused", process: "refused" };

export const IMAGE_FILE = "image: oci:… or docker-archive:…";

// The server and the daemon apply all other fields themselves.
export const FIELD_SUPPORT = {
  root: ociOnly,
  image: { ...everywhere, process: "refused" },
  writableRoot: ociOnly,
  [IMAGE_FILE]: ociOnly,
  allowedImages: { ...everywhere, process: "refused" },
  allowBuilds: { ...everywhere, docker: NO_BUILDS, kubernetes: NO_BUILDS, process: "refused" },
  runtime: { ...everywhere, oci: "refused", process: "refused" },
  memoryMb: limit,
  cpus: limit,
  pids: { ...limit, kubernetes: "limited by `podPidsLimit` of the nodes" },
  tmpMb: limit,
  diskMb: limit,
  egress: { ...everywhere, process: "only for programs that use the proxy" },
  volumes: { ...everywhere, process: "only below `/home/user`" },
  maxEgress: { ...everywhere, process: "only for programs that use the proxy" },
} satisfies Partial<Record<keyof Template | typeof IMAGE_FILE, Row>>;

type SupportedField = keyof typeof FIELD_SUPPORT;

export interface TemplateFault {
  template: string;
  field: string;
  message: string;
}

// Throws an Error with a sentence for each field that the driver refuses, and logs those that it applies in another way.
export function acceptTemplates(driver: DriverName, templates: Templates, log: Log): void {
  const { refused, different } = compareTemplates(driver, templates);
  if (refused.length > 0) throw new Error(refused.map(({ message }) => message).join("\n"));
  for (const fault of different) log.warn("template.field_differs", { driver, ...fault });
}

// The fields of templates that a driver refuses, and those that it applies in another way.
export function compareTemplates(driver: DriverName, templates: Templates): { refused: TemplateFault[]; different: TemplateFault[] } {
  const refused: TemplateFault[] = [];
  const different: TemplateFault[] = [];
  for (const template of templates.values())
    for (const field of (Object.keys(FIELD_SUPPORT) as SupportedField[]).filter((each) => isGiven(template, each))) {
      const support = FIELD_SUPPORT[field][driver];
      const fault = { template: template.name, field };
      if (support === "refused") refused.push({ ...fault, message: describeRefusal(template.name, field, driver) });
      else if (support !== "yes")
        different.push({ ...fault, message: `${template.name}.${field} on the driver ${driver}: ${support.replaceAll("`", "")}.` });
    }
  return { refused, different };
}

function isGiven(template: Template, field: SupportedField): boolean {
  if (field === IMAGE_FILE) return template.image !== undefined && /^(oci|docker-archive):/.test(template.image);
  if (field === "writableRoot") return template.writableRoot === true;
  const value = template[field];
  return value !== undefined && JSON.stringify(value) !== JSON.stringify(DEFAULT_TEMPLATE[field]);
}

function describeRefusal(template: string, field: SupportedField, driver: DriverName): string {
  const able = (Object.keys(everywhere) as DriverName[]).filter((other) => FIELD_SUPPORT[field][other] === "yes");
  return `The template ${template} has the field ${field}, which the driver ${driver} cannot use; ${able.join(", ")} can. Remove it from the template, or choose another driver with BERTH_DRIVER.`;
}
