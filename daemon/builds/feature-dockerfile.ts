import type { Feature } from "./feature.ts";

export interface FeatureBuild {
  // The image of the first build.
  base: string;
  // The user of that image.
  imageUser: string;
  containerUser: string | null;
  remoteUser: string | null;
  // In the order in which they are installed. Each is in the context, in a folder named by its place.
  features: readonly Feature[];
}

const FOLDER = "/tmp/dev-container-features";

// The Dockerfile that installs features over an image, as the specification of features says, and sets the user of sandboxes.
export function featureDockerfile({ base, imageUser, containerUser, remoteUser, features }: FeatureBuild): string {
  const ownUser = userName(imageUser);
  const container = containerUser ?? ownUser;
  const remote = remoteUser ?? container;
  const users = `_CONTAINER_USER=${quote(container)} _REMOTE_USER=${quote(remote)}`;
  const homes = `_CONTAINER_USER_HOME="$( ${homeOf(container)})" _REMOTE_USER_HOME="$( ${homeOf(remote)})"`;
  const install = (feature: Feature, at: number) => [
    ...Object.entries(feature.containerEnv).map(([name, value]) => `ENV ${name}=${doubleQuote(value)}`),
    `COPY ${at} ${FOLDER}/${at}`,
    `RUN cd ${FOLDER}/${at} && chmod -R 0755 . && export ${users} ${homes} ${variables(feature.options)}&& ./install.sh`,
  ];
  const last = [...(features.length > 0 ? [`RUN rm -rf ${FOLDER}`] : []), `USER ${remoteUser ?? containerUser ?? imageUser}`];
  return [`FROM ${base}`, "USER root", ...features.flatMap(install), ...last, ""].join("\n");
}

// `node:node` also names a group.
const userName = (user: string): string => user.split(":")[0] || "root";

const variables = (options: Record<string, string>): string =>
  Object.entries(options)
    .map(([name, value]) => `${name}=${quote(value)} `)
    .join("");

// An image may have no getent.
const homeOf = (user: string): string =>
  `(getent passwd ${quote(user)} 2>/dev/null || grep -E ${quote(`^${escapePattern(user)}:`)} /etc/passwd || true) | cut -d: -f6`;

const escapePattern = (text: string): string => text.replaceAll(/[^\w-]/g, String.raw`\$&`);

// A word of a shell in one line of a Dockerfile, which a newline would end.
const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`).replaceAll(/[\r\n]+/g, " ")}'`;

// Variables such as ${PATH} keep their meaning, as features expect.
const doubleQuote = (text: string): string => `"${text.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll(/[\r\n]+/g, " ")}"`;
