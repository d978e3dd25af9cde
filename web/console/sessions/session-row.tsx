import type { ConsoleSession } from "@berth/contract/console.ts";
import { relative, shortId } from "../parts/format.ts";
import { Link } from "../parts/link.tsx";
import { Status } from "../parts/status.tsx";
import { TABLE_ROW } from "./row-height.ts";

interface Props {
  session: ConsoleSession;
  index: number;
  isSelected: boolean;
  showPartner: boolean;
  onSelect: () => void;
}

export const rowId = (sessionId: string): string => `row-${sessionId}`;

export function SessionRow({ session, index, isSelected, showPartner, onSelect }: Props) {
  const { id, externalUserId, partnerId, template, createdAt, expiresAt } = session;
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      id={rowId(id)}
      aria-selected={isSelected}
      className="table-row"
      onClick={onSelect}
      // Its place in the whole list. The content security policy forbids styles in HTML, but not those that scripts set.
      ref={(element) => void (element && (element.style.top = `${index * TABLE_ROW}px`))}
    >
      <span role="gridcell">
        <Link to={["sessions", id]} className="mono" title={id} tabIndex={isSelected ? 0 : -1}>
          {shortId(id)}
        </Link>
      </span>
      <span role="gridcell" className="truncate" title={externalUserId}>
        {externalUserId}
      </span>
      {showPartner && (
        <span role="gridcell" className="truncate" title={partnerId}>
          {partnerId}
        </span>
      )}
      <span role="gridcell">
        <Status session={session} />
      </span>
      <span role="gridcell" className="truncate">
        {template}
      </span>
      <span role="gridcell" className="muted" title={createdAt}>
        {relative(createdAt)}
      </span>
      <span role="gridcell" className="muted" title={expiresAt ?? undefined}>
        {relative(expiresAt)}
      </span>
    </div>
  );
}
