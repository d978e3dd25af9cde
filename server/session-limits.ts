import type { EgressPolicy, FieldFault, Resources, SessionEgress, Template } from "@berth/contract";
import { EXCEPTION_RULE, exceptionsOf, findEntryFault, isException, isWithin } from "./egress-hosts.ts";

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

export function toEgressPolicy({ policy, hosts = [], except = [] }: SessionEgress): EgressPolicy {
  if (policy === "none") return { policy };
  const exceptions = except.length > 0 ? { except } : {};
  return policy === "hosts" ? { policy, hosts, ...exceptions } : { policy, ...exceptions };
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
  const { policy, hosts, except = [] } = egress;
  if (policy === "none" && except.length > 0) return [{ field: "egress.except", message: "The policy `none` takes no exceptions" }];
  const strange = except.findIndex((host) => !isException(host));
  if (strange >= 0) return [{ field: `egress.except.${strange}`, message: `Must be ${EXCEPTION_RULE}` }];
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
  const missing = exceptionsOf(allowed).find((host) => !except.includes(host));
  if (missing !== undefined) return [{ field: "egress.except", message: `Must contain ${missing}, which the template excepts` }];
  const refused = policy === "hosts" ? (hosts ?? []).findIndex((host) => !isWithin({ policy, hosts: [host], except }, allowed)) : -1;
  return [
    refused >= 0
      ? { field: `egress.hosts.${refused}`, message: "The template does not allow this host" }
      : { field: "egress.policy", message: "The template does not allow this policy" },
  ];
}

const isSameEgress = (a: EgressPolicy, b: EgressPolicy): boolean => isWithin(a, b) && isWithin(b, a);
