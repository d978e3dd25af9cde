// Reads the next page of a list; nothing at its end.
export const MoreButton = ({ more }: { more: (() => void) | null }) =>
  more && (
    <button type="button" className="button" onClick={more}>
      Show more
    </button>
  );
