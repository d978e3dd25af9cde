import type { ComponentType } from "react";
import type { ViewerKind } from "@berth/contract/console.ts";
import { OverviewPage } from "../overview/overview-page.tsx";
import { AccountPage } from "../partners/partner-detail.tsx";
import { PartnersPage } from "../partners/partners-page.tsx";
import { RunsPage } from "../runs/runs-page.tsx";
import { SessionsPage } from "../sessions/sessions-page.tsx";
import { SnapshotsPage } from "../snapshots/snapshots-page.tsx";
import { AuditPage } from "../system/audit-page.tsx";
import { HealthPage } from "../system/health-page.tsx";
import { TemplatesPage } from "../system/templates-page.tsx";
import { WebhooksPage } from "../webhooks/webhooks-page.tsx";

export interface Page {
  // The first part of the path.
  name: string;
  title: string;
  Content: ComponentType<{ rest: string[] }>;
  // Absent: both.
  only?: ViewerKind;
}

export const PAGES: readonly Page[] = [
  { name: "", title: "Overview", Content: OverviewPage },
  { name: "sessions", title: "Sessions", Content: SessionsPage },
  { name: "runs", title: "Runs", Content: RunsPage },
  { name: "partners", title: "Partners", Content: PartnersPage, only: "operator" },
  { name: "account", title: "Keys and usage", Content: AccountPage, only: "partner" },
  { name: "snapshots", title: "Snapshots", Content: SnapshotsPage },
  { name: "webhooks", title: "Webhooks", Content: WebhooksPage },
  { name: "templates", title: "Templates", Content: TemplatesPage, only: "operator" },
  { name: "health", title: "Health", Content: HealthPage, only: "operator" },
  { name: "audit", title: "Audit", Content: AuditPage },
];
