import { readChoice } from "./storage.ts";

// Loaded before the page is painted. frame.ts changes the theme later.
const { dataset } = document.documentElement;
dataset.theme = readChoice("theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
// Tabs and buttons that need a script are shown only with one.
dataset.script = "";
