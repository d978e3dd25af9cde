// Replaces Node modules that the daemon never calls (see build.ts).
module.exports = {};
