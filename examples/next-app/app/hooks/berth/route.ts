import { verifyWebhook } from "@berth/client";
import { news } from "../../../lib/news.ts";

// The signature covers the bytes as they arrived, so they are not parsed before.
export async function POST(request: Request): Promise<Response> {
  const secret = process.env.BERTH_WEBHOOK_SECRET ?? "";
  const event = await verifyWebhook(await request.text(), request.headers, secret).catch(() => null);
  if (!event) return new Response(null, { status: 401 });
  const { externalUserId } = event.data as { externalUserId?: string };
  if (externalUserId !== undefined) news.set(externalUserId, `${event.type} at ${event.timestamp.slice(11, 19)}`);
  return new Response(null, { status: 204 });
}
