import { styleText } from "node:util";

// Colours, if the output is a terminal and NO_COLOR is not set.
type Paint = (text: string) => string;
const paint =
  (...format: Parameters<typeof styleText>[0][]): Paint =>
  (text) =>
    isColoured() ? styleText(format as Parameters<typeof styleText>[0], text, { validateStream: false }) : text;

export const style = {
  bold: paint("bold"),
  dim: paint("dim"),
  red: paint("red"),
  green: paint("green"),
  yellow: paint("yellow"),
  cyan: paint("cyan"),
};

const isColoured = () => process.stdout.isTTY && process.stderr.isTTY && !process.env.NO_COLOR && process.env.TERM !== "dumb";
