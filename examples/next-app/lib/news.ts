// Stands for a table of your database. Next.js loads this module for pages and for routes separately, so the map is global.
const shared = globalThis as { news?: Map<string, string> };
export const news = (shared.news ??= new Map());
