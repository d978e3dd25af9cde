import { Anchor } from "lucide-react";

export const Logo = () => (
  <span className="mark" aria-hidden="true">
    <Anchor size={13} />
  </span>
);
