// The images that a template allows for sessions of repositories. `*` in a pattern matches any characters.

// The name of an image, without anything that has a meaning in a URL.
const IMAGE = /^[a-zA-Z0-9][\w.-]*(?::\d+)?(?:\/[a-zA-Z0-9][\w.-]*)*(?::[\w][\w.-]*)?(?:@sha256:[0-9a-f]{64})?$/;
const MAX_LENGTH = 255;

export const IMAGE_PATTERN = "^[a-zA-Z0-9*][a-zA-Z0-9*_.:/@-]{0,254}$";

export const isImageName = (image: string): boolean => image.length <= MAX_LENGTH && IMAGE.test(image) && !image.includes("..");

export const isImageAllowed = (image: string, patterns: readonly string[]): boolean =>
  isImageName(image) && patterns.some((pattern) => toExpression(pattern).test(image));

const toExpression = (pattern: string): RegExp => new RegExp(`^${pattern.replaceAll(/[.\\+?^${}()|[\]]/g, "\\$&").replaceAll("*", ".*")}$`);
