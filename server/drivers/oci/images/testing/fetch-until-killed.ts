// For image-store.test.ts: a process that fetches one image, as `berth template pull` does, and is killed meanwhile.
import { silentLog } from "../../../../log.ts";
import { plainRunner } from "../../../host/file-runner.ts";
import { createImageStore } from "../image-store.ts";

const [dataDir = "", name = "", authFile = "", certificatesDir = ""] = process.argv.slice(2);
const store = createImageStore({ dataDir, files: plainRunner, log: silentLog, registry: { authFile, certificatesDir } });
await store.ensure(name, AbortSignal.timeout(60_000));
