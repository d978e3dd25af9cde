// The build that a repository's devcontainer.json asks for. The Setup terminal writes it, and the program that builds reads it, in a
// sandbox of its own. All paths are below the repository.
export interface BuildPlan {
  base: { image: string } | DockerfileBuild;
  // In the order of devcontainer.json.
  features: WantedFeature[];
  // Ids of features that are installed first, in this order.
  installOrder: string[];
  // null: that of the base.
  containerUser: string | null;
  remoteUser: string | null;
}

// A user in a line of a Dockerfile.
export const USER_NAME = /^[a-z_0-9][a-z0-9_.-]{0,63}$/i;

export interface DockerfileBuild {
  dockerfile: string;
  context: string;
  args: Record<string, string>;
  // null: the last stage.
  target: string | null;
}

export interface WantedFeature {
  // As devcontainer.json names it.
  id: string;
  // null: its id names it in a registry.
  folder: string | null;
  options: Record<string, string>;
}

// The plan's name in the archive, beside the folder with the files of the repository.
export const PLAN_FILE = "build.json";
export const REPOSITORY_FOLDER = "repository";
