import type { SnapshotId, Template } from "@berth/contract";
import { isImageAllowed } from "@berth/contract/matching/image-patterns.ts";
import { isBuiltImage } from "../builds/built-image.ts";
import type { Driver, SandboxSpec } from "../drivers/driver.ts";
import { sha256Hex, type Secrets } from "../secrets/secrets.ts";
import { limitTemplate } from "../session-limits.ts";
import { isPartnerSession, type PartnerSession, type Session } from "../store/sessions/session.ts";
import { templateHash, type Templates } from "../templates.ts";
import type { CreateRequest } from "./sessions.ts";
import { withVolumes } from "./volumes/mounts.ts";

// Decides which sandbox a session gets: its template, snapshot, image and volumes. A create decides by its request, everything later by
// the row.

// A warm sandbox fits a create of the same kind.
export interface Kind {
  template: Template;
  templateHash: string;
}

export function kindOf(template: Template, { traits, images }: Pick<Driver, "traits" | "images">): Kind {
  // A name can stand for another image later.
  const image = template.image === undefined ? undefined : images?.stateOf?.(template.image);
  const digest = image?.state === "ready" ? image.digest : "";
  return { template, templateHash: templateHash(template, `${traits.recipe ?? ""}${digest}`) };
}

export function kindOfCreate(
  templates: Templates,
  driver: Pick<Driver, "name" | "traits" | "volumes" | "images">,
  request: CreateRequest,
): Kind {
  const named = requireTemplate(templates, request.template);
  const template = withVolumes(limitTemplate(named, request), request.volumes, driver);
  // A warm sandbox fits only if it starts with the same files. The pool recognizes a template that is not changed.
  const snapshot = snapshotOf(request.files ?? request.source, template);
  return kindOf(snapshot === template.snapshot ? template : withSnapshot(template, snapshot), driver);
}

function withSnapshot(template: Template, snapshot: SnapshotId | undefined): Template {
  const { snapshot: _, ...rest } = template;
  return { ...rest, ...(snapshot !== undefined && { snapshot }) };
}

export function specOf({ templates, secrets }: { templates: Templates; secrets: Secrets }, session: Session): SandboxSpec {
  const { sandboxId: id, sealedToken } = session;
  const template = templateOf(templates, session);
  const tokenHash = sha256Hex(secrets.open(sealedToken, id));
  if (!isPartnerSession(session)) return { id, template, tokenHash, snapshot: snapshotOf(null, template) };
  const { setup, volumes } = session;
  const snapshot = snapshotOf(setup?.source, template);
  return { id, template, tokenHash, snapshot, image: imageOf(session, template), ...(volumes && { volumes }) };
}

// The template of the session's sandbox, with the session's own values.
export function templateOf(templates: Templates, session: Session): Template {
  const template = requireTemplate(templates, session.template);
  return isPartnerSession(session) ? limitTemplate(template, session) : template;
}

// A create was validated against the templates, but those of older sessions may be gone.
function requireTemplate(templates: Templates, name: string): Template {
  const template = templates.get(name);
  if (!template) throw new Error(`The template ${name} is not configured any more`);
  return template;
}

// The snapshot with the files of a new sandbox: that of the create, or of the template if the create names no source.
export function snapshotOf(source: object | null | undefined, { snapshot }: Pick<Template, "snapshot">): SnapshotId | undefined {
  if (!source) return snapshot as SnapshotId | undefined;
  return "snapshotId" in source ? (source.snapshotId as SnapshotId) : undefined;
}

// Whether sessions of the template may use this image of their repository. Only the server gives a session an image that was built: for
// this session, for the session that it is a copy of, or for one with equal files.
export const allowsImage = (template: Pick<Template, "allowedImages" | "allowBuilds"> | undefined, image: string): boolean =>
  isBuiltImage(image) ? allowsBuilds(template) : isImageAllowed(image, template?.allowedImages ?? []);

export const allowsBuilds = (template: Pick<Template, "allowBuilds"> | undefined): boolean => template?.allowBuilds ?? false;

// The image of the session's repository. Before its first start it counts only for the step that tries it, so that a session is never
// left with an image that does not work.
function imageOf({ setup, state }: PartnerSession, template: Template): string | undefined {
  const image = setup?.image;
  if (!image || !allowsImage(template, image.name)) return undefined;
  return image.status === "used" || (image.status === "pending" && state === "rebuilding") ? image.name : undefined;
}
