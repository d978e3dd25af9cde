// Stands in for modules of Node that the daemon never calls (see build.ts).
module.exports = {};
