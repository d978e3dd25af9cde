import type { FastifyRequest } from "fastify";
import { TEMPLATE_FORM_FIELDS, type ConsoleTemplateCheck, type TemplateForm } from "@berth/contract/console.ts";
import { LineCounter, parseDocument, stringify } from "yaml";
import { findFieldErrors } from "../../template-fields.ts";
import { TEMPLATE_NAME } from "../../templates.ts";
import { parseOptionalBody } from "../requests/request-body.ts";

type Fault = ConsoleTemplateCheck["faults"][number];

// Checks a template with the rules for the templates file, and returns it as a part of that file. Nothing is written: see decision 0054.
export function checkTemplate(form: TemplateForm, configured: { get(name: string): object | undefined }): ConsoleTemplateCheck {
  const more = parseMore(form.more);
  const name = form.name.trim();
  const fields = { ...fieldsOf(form), ...("fields" in more ? more.fields : {}) };
  const faults: Fault[] = [
    ...(TEMPLATE_NAME.test(name) ? [] : [{ field: "name", message: "must be lowercase letters, digits and hyphens, at most 63" }]),
    ...("fault" in more ? [{ field: "more", message: more.fault }] : []),
    ...findFieldErrors(fields).map(({ at, message }) => toFault(at, message)),
  ];
  const yaml = faults.length > 0 ? null : stringify({ [name]: Object.keys(fields).length === 0 ? null : fields }, { nullStr: "" });
  return { faults, yaml, replaces: configured.get(name) !== undefined };
}

// Unknown and missing fields are empty.
export function parseForm(request: FastifyRequest): TemplateForm {
  const body = parseOptionalBody(request) ?? {};
  const textOf = (value: unknown) => (typeof value === "string" ? value : "");
  return Object.fromEntries(TEMPLATE_FORM_FIELDS.map((field) => [field, textOf(body[field])])) as TemplateForm;
}

// Returns only the fields that differ from the default template.
function fieldsOf(form: TemplateForm): Record<string, unknown> {
  const texts = TEXTS.flatMap((field) => (form[field].trim() === "" ? [] : [[field, form[field].trim()] as const]));
  const numbers = NUMBERS.flatMap((field) => (form[field].trim() === "" ? [] : [[field, numberOf(form[field].trim())] as const]));
  const hosts = form.hosts.split(/[\s,]+/).filter((host) => host !== "");
  return {
    ...Object.fromEntries([...texts, ...numbers]),
    ...(form.egress !== "" && { egress: form.egress === "hosts" ? { policy: "hosts", hosts } : { policy: form.egress } }),
    ...(form.agent !== "" && { agent: form.agent === "none" ? null : form.agent }),
  };
}

const TEXTS = ["description", "image", "root", "setup"] as const;
const NUMBERS = ["cpus", "memoryMb", "diskMb", "pids"] as const;

// A text that is no number stays as it is, so that the check names it.
const numberOf = (text: string): number | string => (Number.isFinite(Number(text)) ? Number(text) : text);

function parseMore(text: string): { fields: object } | { fault: string } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines });
  const [error] = document.errors;
  if (error) return { fault: `line ${lines.linePos(error.pos[0]).line}: ${error.message.split("\n")[0]}` };
  const value: unknown = document.toJS({ maxAliasCount: 0 });
  if (value === null || value === undefined) return { fields: {} };
  return typeof value === "object" && !Array.isArray(value) ? { fields: value } : { fault: "must be fields of a template, such as env" };
}

// Faults of a field that the form lacks are shown beside the further fields.
function toFault([first = "more", ...rest]: readonly string[], message: string): Fault {
  if (first === "egress" && rest[0] === "hosts") return { field: "hosts", message };
  const isInForm = (TEMPLATE_FORM_FIELDS as readonly string[]).includes(first);
  const path = [first, ...rest].join(".");
  return isInForm && rest.length === 0 ? { field: first, message } : { field: isInForm ? first : "more", message: `${path} ${message}` };
}
