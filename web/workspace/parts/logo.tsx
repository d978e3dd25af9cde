import { Anchor } from "lucide-react";

// The partner's logo, or ours.
export const Logo = ({ image }: { image: string | null }) =>
  image === null ? (
    <span className="mark" aria-hidden="true">
      <Anchor size={13} />
    </span>
  ) : (
    <img className="brand" src={image} alt="" />
  );
