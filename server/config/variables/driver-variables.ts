import { anyText, flag, matching, oneOf, wholeNumber } from "../kinds.ts";
import { variable } from "../variable.ts";

export const DRIVER_VARIABLES = {
  driver: variable({
    name: "BERTH_DRIVER",
    kind: oneOf("auto", "oci", "docker", "kubernetes", "process"),
    default: "auto",
    help: "What creates sandboxes. `auto` takes the first of oci, docker and process that works on this machine, and without root the first of docker, oci and process; `berth doctor` shows which.",
  }),
  allowUnisolated: variable({
    name: "BERTH_ALLOW_UNISOLATED",
    kind: flag,
    default: false,
    help: "Allow the process driver, which does not isolate sandboxes, on an address that other machines can reach.",
  }),
  ociRuntime: variable<"auto" | "runc" | "crun" | "runsc">({
    name: "BERTH_OCI_RUNTIME",
    kind: oneOf("auto", "runc", "crun", "runsc"),
    default: "auto",
    help: "Container runtime of the oci driver. `auto` takes the first of runc, crun and runsc (gVisor) that works on this machine. Without root only runc works.",
  }),
  diskWriteLimitMib: variable({
    name: "BERTH_DISK_WRITE_LIMIT",
    kind: wholeNumber(0, 100_000),
    default: 100,
    help: "MiB a second at which the disk of an oci sandbox is written if the server runs as root, so that one sandbox does not hold up the syncs of others. Short bursts are buffered in the sandbox's memory. `0` means no limit.",
  }),
  diskReserveMib: variable({
    name: "BERTH_DISK_RESERVE_MIB",
    kind: wholeNumber(0, 10_000_000),
    default: 512,
    help: "MiB that are kept free on the disk of the data folder, at most an eighth of it, besides a file of the same size. With less, nothing new is created; with half of it, sessions are paused until there is space again. `0` keeps nothing free.",
  }),
  registryAuthFile: variable<string | null>({
    name: "BERTH_REGISTRY_AUTH",
    kind: anyText,
    default: null,
    defaultHelp: "none",
    help: "File with the passwords of registries, from which oci sandboxes get their images, as `docker login` and `skopeo login` write it.",
  }),
  registryCertificatesDir: variable<string | null>({
    name: "BERTH_REGISTRY_CERTIFICATES",
    kind: anyText,
    default: null,
    defaultHelp: "those of the machine",
    help: "Folder with certificates (`*.crt`) of registries that the machine does not trust, for the images of oci sandboxes. Without it, a registry on this machine needs no certificate.",
  }),
  sandboxImage: variable({
    name: "BERTH_SANDBOX_IMAGE",
    kind: matching(/^\S+$/, "the name of an image"),
    default: "berth-sandbox:latest",
    help: "Image for docker and kubernetes sandboxes whose template names no image.",
  }),
  sandboxRuntime: variable<"mount" | "image">({
    name: "BERTH_SANDBOX_RUNTIME",
    kind: oneOf("mount", "image"),
    default: "mount",
    help: "Where docker and kubernetes sandboxes get the daemon from. `mount`: docker mounts the server's own copy, and kubernetes copies it from BERTH_SANDBOX_IMAGE into other images. `image`: it is at /opt/berth in every image that a template names. Use `image` with docker when the server itself runs in a container.",
  }),
  installation: variable<string | null>({
    name: "BERTH_INSTALLATION",
    kind: matching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "at most 63 lowercase letters, digits and hyphens"),
    default: null,
    defaultHelp: "derived from the data folder; `berth` on kubernetes",
    help: "Name of this installation. It marks its sandboxes where several installations share a Docker Engine or a cluster.",
  }),
  dockerSocket: variable({
    name: "BERTH_DOCKER_SOCKET",
    kind: anyText,
    default: "/var/run/docker.sock",
    help: "Socket of the Docker Engine.",
  }),
};
