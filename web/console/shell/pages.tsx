import type { ComponentType } from "react";
import type { ViewerKind } from "@berth/contract/console.ts";
import { OverviewPage } from "../overview/overview-page.tsx";
import { SessionsPage } from "../sessions/sessions-page.tsx";

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
];
