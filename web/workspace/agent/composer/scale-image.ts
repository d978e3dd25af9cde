// Models look at images of about this size, and the server limits the size of a request.
const MAX_SIDE = 1568;
const MAX_BYTES = 1024 * 1024;
const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

// Makes an image that an agent accepts: it has a common type and is not larger than useful.
export async function scaleImage(file: Blob): Promise<Blob> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error("The browser cannot read this image");
  });
  const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
  if (scale === 1 && file.size <= MAX_BYTES && TYPES.includes(file.type)) return file;
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale)));
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const png = await canvas.convertToBlob({ type: "image/png" });
  return png.size <= MAX_BYTES ? png : await canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
}
