import { SessionList } from "./session-list.tsx";

export function SessionsPage() {
  return <SessionList />;
}
