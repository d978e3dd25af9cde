import { createContext, use } from "react";
import type { ConsoleViewer } from "@berth/contract/console.ts";
import type { Api } from "./api.ts";

export interface Console {
  api: Api;
  viewer: ConsoleViewer;
  signOut: () => void;
}

export const ConsoleContext = createContext<Console | null>(null);

export function useConsole(): Console {
  const context = use(ConsoleContext);
  if (!context) throw new Error("No one is signed in here.");
  return context;
}
