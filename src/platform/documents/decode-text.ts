// Bytes to text: byte order mark, declared charset, UTF-8, and what Windows wrote before all that.
import { isUtf8 } from 'node:buffer';

export interface DecodedText {
  readonly text: string;
  readonly warnings: readonly string[];
}

/** How far a page or an XML file may name its own encoding. */
const declarationWithin = 1_024;

/** `charset` as declared from outside; without one, HTML and XML may name their own (`looksInside`). Never fails. */
export function decodeText(
  bytes: Uint8Array,
  { charset, looksInside = false }: { readonly charset?: string | undefined; readonly looksInside?: boolean },
): DecodedText {
  const marked = markedEncoding(bytes);
  if (marked !== undefined) return { text: new TextDecoder(marked).decode(bytes), warnings: [] };
  if (isUtf8(bytes)) return { text: new TextDecoder().decode(bytes), warnings: [] };
  const named = charset ?? (looksInside ? encodingInside(bytes) : undefined);
  const decoder = named === undefined ? undefined : decoderFor(named);
  if (decoder) return { text: decoder.decode(bytes), warnings: [] };
  return {
    text: new TextDecoder('windows-1252').decode(bytes),
    warnings: ['It is not UTF-8 and names no encoding that is known: read as Windows-1252 (Latin-1).'],
  };
}

function markedEncoding(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 'utf-8' : undefined;
}

function encodingInside(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, declarationWithin));
  return /(?:encoding|charset)\s*=\s*["']?([\w:.-]+)/i.exec(head.toString('latin1'))?.[1];
}

/** It is not UTF-8, whatever it says. */
function decoderFor(label: string): InstanceType<typeof TextDecoder> | undefined {
  try {
    const decoder = new TextDecoder(label);
    return decoder.encoding === 'utf-8' ? undefined : decoder;
  } catch {
    return undefined;
  }
}
