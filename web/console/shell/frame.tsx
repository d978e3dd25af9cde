import { useEffect } from "react";
import { Logo } from "../../workspace/parts/logo.tsx";
import { useConsole } from "../connection/context.ts";
import { useLocation } from "../connection/location.ts";
import { Link } from "../parts/link.tsx";
import { PAGES } from "./pages.tsx";

// The navigation, and the page that the address names.
export function Frame() {
  const { viewer, signOut } = useConsole();
  const { path } = useLocation();
  const [name = "", ...rest] = path;
  const pages = PAGES.filter(({ only }) => only === undefined || only === viewer.kind);
  const page = pages.find((one) => one.name === name);
  const title = page?.title ?? "Not found";

  useEffect(() => {
    document.title = `${title} · Berth console`;
  }, [title]);

  return (
    <div className="frame">
      <header className="bar">
        <Logo image={null} />
        <strong className="product">{viewer.kind === "operator" ? "Berth" : viewer.name}</strong>
        <nav aria-label="Pages">
          {pages.map((one) => (
            <Link key={one.name} to={one.name === "" ? [] : [one.name]} aria-current={one === page ? "page" : undefined}>
              {one.title}
            </Link>
          ))}
        </nav>
        <span className="who muted truncate" title={viewer.name}>
          {viewer.kind === "operator" ? viewer.name : "Partner"}
        </span>
        <button type="button" className="button small" onClick={signOut}>
          Sign out
        </button>
      </header>
      <main className="content">
        {page ? (
          <page.Content rest={rest} />
        ) : (
          <div className="empty">
            <h1>There is no such page</h1>
          </div>
        )}
      </main>
    </div>
  );
}
