// The order of the documentation at /docs: groups, and in each the Markdown files of its pages, as paths from the root of the
// repository. A page's title is its first heading; `name` is shorter, for the sidebar. A test compares this table with the files.
export interface Entry {
  file: string;
  name?: string;
}

export interface Group {
  title: string;
  // One sentence for the first page.
  about: string;
  entries: Entry[];
}

export const NAVIGATION: Group[] = [
  {
    title: "Tutorial",
    about: "From nothing to a workspace inside your own page, in a quarter of an hour.",
    entries: [
      { file: "docs/tutorial.md", name: "Your first workspace" },
      { file: "README.md", name: "Quick start" },
    ],
  },
  {
    title: "How-to guides",
    about: "One task each, for your product and for the people who run Berth.",
    entries: [
      { file: "docs/api.md", name: "Create and use sessions" },
      { file: "docs/embedding.md", name: "Embed the workspace" },
      { file: "docs/webhooks.md", name: "Webhooks" },
      { file: "docs/sandbox.md", name: "Commands and files" },
      { file: "docs/runs.md", name: "Give the agent a task" },
      { file: "docs/agents.md", name: "Coding agents" },
      { file: "docs/repositories.md", name: "Repositories" },
      { file: "docs/snapshots.md", name: "Snapshots" },
      { file: "docs/volumes.md", name: "Volumes" },
      { file: "docs/templates.md", name: "Templates" },
      { file: "docs/tokens.md", name: "Session tokens" },
      { file: "docs/ssh.md", name: "SSH" },
      { file: "docs/mcp.md", name: "MCP" },
      { file: "docs/e2b.md", name: "E2B programs" },
      { file: "docs/usage.md", name: "Usage and cost" },
      { file: "docs/deploy.md", name: "Deploy" },
      { file: "docs/kubernetes.md", name: "Kubernetes" },
      { file: "docs/monitoring.md", name: "Monitoring" },
      { file: "docs/backup.md", name: "Backup and restore" },
      { file: "docs/console.md", name: "Console" },
    ],
  },
  {
    title: "Examples",
    about: "Small programs that run, each in fewer than 150 lines.",
    entries: [
      { file: "examples/partner-app/README.md", name: "A product with Express" },
      { file: "examples/next-app/README.md", name: "A product with Next.js" },
      { file: "examples/classroom/README.md", name: "A classroom" },
      { file: "examples/interview/README.md", name: "A coding interview" },
      { file: "examples/issue-agent/README.md", name: "An agent that fixes an issue" },
      { file: "examples/batch-runner/README.md", name: "A batch runner" },
    ],
  },
  {
    title: "Concepts",
    about: "How it works, and what it promises.",
    entries: [
      { file: "docs/concepts.md", name: "How it fits together" },
      { file: "docs/workspace.md", name: "Workspace" },
      { file: "docs/isolation.md", name: "Isolation" },
      { file: "docs/security.md", name: "Security" },
      { file: "docs/reliability.md", name: "Reliability" },
      { file: "docs/performance.md", name: "Performance" },
    ],
  },
  {
    title: "Reference",
    about: "Every call, setting, command and error.",
    entries: [
      { file: "client/README.md", name: "TypeScript client" },
      { file: "clients/python/README.md", name: "Python client" },
      { file: "clients/computesdk/README.md", name: "ComputeSDK provider" },
      { file: "docs/command-line.md", name: "Command line" },
      { file: "docs/configuration.md", name: "Configuration" },
      { file: "docs/errors.md", name: "Errors" },
    ],
  },
  {
    title: "Troubleshooting",
    about: "By symptom and by error code.",
    entries: [{ file: "docs/troubleshooting.md", name: "When something does not work" }],
  },
  {
    title: "Upgrade",
    about: "What changed, and what to do about it.",
    entries: [
      { file: "docs/upgrade.md", name: "Upgrading" },
      { file: "CHANGELOG.md", name: "Changelog" },
    ],
  },
  {
    title: "FAQ",
    about: "Short answers to what people ask first.",
    entries: [{ file: "docs/faq.md", name: "Questions people ask" }],
  },
  {
    title: "Project",
    about: "How Berth is built, and why.",
    entries: [
      { file: "ARCHITECTURE.md", name: "Architecture" },
      { file: "CONTRIBUTING.md", name: "Contributing" },
      { file: "SECURITY.md", name: "Report a vulnerability" },
    ],
  },
];
