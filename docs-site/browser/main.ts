import { addCopyButtons } from "./copy.ts";
import { wireFrame } from "./frame.ts";
import { wireSearch } from "./search.ts";
import { wireTabs } from "./tabs.ts";

wireFrame();
wireTabs();
addCopyButtons();
wireSearch();
