import { SessionDetail } from "./detail/session-detail.tsx";
import { SessionList } from "./session-list.tsx";

export const SessionsPage = ({ rest: [id] }: { rest: string[] }) =>
  id === undefined ? <SessionList /> : <SessionDetail key={id} id={id} />;
