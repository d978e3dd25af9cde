// The result of one check of `berth doctor`. A bad one makes the exit code 1.
export interface Finding {
  topic: string;
  state: "good" | "note" | "bad";
  text: string;
}
