import { createBerth } from "@berth/client";

export const berthUrl = process.env.BERTH_URL ?? "http://localhost:8080";

// A function, because a build has no key.
export const connect = () => createBerth({ baseUrl: berthUrl, apiKey: process.env.BERTH_API_KEY ?? "" });
