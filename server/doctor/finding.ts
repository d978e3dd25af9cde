// The result of one check of an installation. A bad one keeps it from working.
export interface Finding {
  topic: string;
  state: "good" | "note" | "bad";
  text: string;
  // How to change it, in full sentences. Absent if there is nothing to do.
  cure?: string;
}
