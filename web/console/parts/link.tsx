import type { AnchorHTMLAttributes } from "react";
import type { Query } from "../connection/api.ts";
import { hrefOf, navigate, useLocation } from "../connection/location.ts";

// A link to another page of this console. It opens without loading the page again.
export function Link({
  to,
  query,
  ...rest
}: { to: readonly string[]; query?: Query } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href">) {
  const { kind } = useLocation();
  const href = hrefOf(kind, to, query);
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        navigate(href);
      }}
    />
  );
}
