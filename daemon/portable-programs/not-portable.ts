// This machine's programs cannot be changed so that they run in other images. The message is the end of a sentence.
export class NotPortable extends Error {}
