// Replaces `node:http` in the daemon's bundle. Node cannot put that module into a start-up snapshot, so it is loaded on first use.
const load = () => process.getBuiltinModule("node:http");

module.exports = {
  get createServer() {
    return load().createServer;
  },
  get request() {
    return load().request;
  },
  get get() {
    return load().get;
  },
  get STATUS_CODES() {
    return load().STATUS_CODES;
  },
};
