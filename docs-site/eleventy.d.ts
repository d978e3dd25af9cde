// Eleventy has no types; these are the parts that we use.
declare module "@11ty/eleventy" {
  interface UserConfig {
    setUseGitIgnore(uses: boolean): void;
    setLibrary(engine: "md", library: import("markdown-it").default): void;
    addGlobalData(name: string, value: unknown): void;
    addTemplate(path: string, content: string, data: Record<string, unknown>): void;
  }

  export default class Eleventy {
    constructor(
      input: string,
      output: string,
      options: { quietMode: boolean; configPath: null; config(config: UserConfig): { markdownTemplateEngine: false } },
    );
    disableLogger(): void;
    write(): Promise<void>;
  }
}
