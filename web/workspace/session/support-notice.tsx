import { Eye } from "lucide-react";

// Tells the user that the operator's support has the workspace open.
export default function SupportNotice() {
  return (
    <p className="support-notice" role="status">
      <Eye size={14} aria-hidden="true" />
      Support is looking at this workspace. They see what you see and cannot change anything.
    </p>
  );
}
