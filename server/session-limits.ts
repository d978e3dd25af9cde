import type { EgressPolicy, FieldFault, Resources, SessionEgress, Template } from "@berth/contract";
import { DENIABLE, deniedOf, findEntryFault, isDeniable, isWithin } from "./egress-hosts.ts";

// The limits that a session has instead of those of its template. null or absent: the template's value.
export interface SessionLimits {
  resources?: Resources | null;
  egress?: EgressPolicy | null;
}

// The template of a session's sandbox. It is the template itself if nothing differs: pools recognize their template by that.
export function limitTemplate(template: Template, { resources, egress }: SessionLimits): Template {
  const limited = { ...template, ...resources, ...(egress && { egress }) };
  const isSame = RESOURCES.every((name) => limited[name] === template[name]) && isSameEgress(limited.egress, template.egress);
  return isSame ? template : limited;
}

export interface RequestedLimits {
  resources?: Resources;
  egress?: SessionEgress;
}

// Why a session of the template cannot have this.
export function findLimitFaults(template: Template, { resources = {}, egress }: RequestedLimits): FieldFault[] {
  return [
    ...RESOURCES.flatMap((name) => findResourceFault(template, name, resources[name])),
    ...(egress ? findEgressFaults(template, egress) : []),
  ];
}

export function toEgressPolicy({ policy, hosts = [], deny = [] }: SessionEgress): EgressPolicy {
  if (policy === "none") return { policy };
  const denied = deny.length > 0 ? { deny } : {};
  return policy === "hosts" ? { policy, hosts, ...denied } : { policy, ...denied };
}

const RESOURCES = ["cpus", "memoryMb", "diskMb"] as const;

function findResourceFault(template: Template, name: (typeof RESOURCES)[number], value: number | undefined): FieldFault[] {
  if (value === undefined || value === template[name]) return [];
  const field = `resources.${name}`;
  const most = template.maxResources?.[name];
  if (most === undefined) return [{ field, message: `Must be ${template[name]}, because the template allows no other value` }];
  return value <= most ? [] : [{ field, message: `Must be at most ${most}` }];
}

function findEgressFaults(template: Template, egress: SessionEgress): FieldFault[] {
  const { policy, hosts, deny = [] } = egress;
  if (policy === "none" && deny.length > 0) return [{ field: "egress.deny", message: "The policy `none` denies everything already" }];
  const strange = deny.findIndex((host) => !isDeniable(host));
  if (strange >= 0) return [{ field: `egress.deny.${strange}`, message: `Must be ${DENIABLE}` }];
  if (policy !== "hosts") {
    if (hosts) return [{ field: "egress.hosts", message: "Only the policy `hosts` takes a list of hosts" }];
  } else {
    if (!hosts || hosts.length === 0) return [{ field: "egress.hosts", message: "Required" }];
    const wrong = hosts.map(findEntryFault);
    const index = wrong.findIndex((fault) => fault !== undefined);
    if (index >= 0) return [{ field: `egress.hosts.${index}`, message: `Must be ${wrong[index]!.rule}` }];
  }
  const allowed = template.maxEgress ?? template.egress;
  if (isWithin(toEgressPolicy(egress), allowed)) return [];
  const missing = deniedOf(allowed).find((host) => !deny.includes(host));
  if (missing !== undefined) return [{ field: "egress.deny", message: `Must contain ${missing}, which the template denies` }];
  const refused = policy === "hosts" ? (hosts ?? []).findIndex((host) => !isWithin({ policy, hosts: [host], deny }, allowed)) : -1;
  return [
    refused >= 0
      ? { field: `egress.hosts.${refused}`, message: "The template does not allow this host" }
      : { field: "egress.policy", message: "The template does not allow this policy" },
  ];
}

const isSameEgress = (a: EgressPolicy, b: EgressPolicy): boolean => isWithin(a, b) && isWithin(b, a);
