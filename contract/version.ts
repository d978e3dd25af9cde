// The version of Berth: of the server, the daemon, the command line and the clients. scripts/version.test.ts compares it with the packages.
// The API has its own version, which changes when a caller has to (openapi/openapi.ts).
export const VERSION = "0.2.0";
