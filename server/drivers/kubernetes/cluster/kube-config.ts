// The one part of the library that we use. The bundle leaves out the rest, which takes half a second and 60 MB to load.
export { KubeConfig } from "@kubernetes/client-node/dist/config.js";
