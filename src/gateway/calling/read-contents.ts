// Looks through the messages of a chat for images: who can see them, and what they weigh, is special.

type Json = Readonly<Record<string, unknown>>;

export interface ReadContents {
  readonly images: number;
  /** How much of the body is pictures: base64 is not counted as words. */
  readonly imageCharacters: number;
}

export function readContents(messages: readonly Json[]): ReadContents {
  let images = 0;
  let imageCharacters = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content as readonly unknown[]) {
      const length = imageLength(part);
      if (length === undefined) continue;
      images += 1;
      imageCharacters += length;
    }
  }
  return { images, imageCharacters };
}

/** How long the address or data of an image part is; undefined when it is none. */
function imageLength(part: unknown): number | undefined {
  const { type, image_url } = (part ?? {}) as { readonly type?: unknown; readonly image_url?: unknown };
  if (type !== 'image_url' && type !== 'input_image') return undefined;
  const url = typeof image_url === 'object' && image_url !== null ? (image_url as Json)['url'] : image_url;
  return typeof url === 'string' ? url.length : 0;
}
