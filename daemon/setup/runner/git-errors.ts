// git has failed. The message is the end of what it wrote to stderr.
export class GitFailure extends Error {}

// git is not installed.
export class GitMissing extends Error {}

// The repository has no such branch or tag.
export class UnknownRef extends Error {}
