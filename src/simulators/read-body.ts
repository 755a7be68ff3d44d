// The body of a request, up to a size.
import type { IncomingMessage } from 'node:http';

const usualLargest = 1_000_000;

export async function readBody(request: IncomingMessage, largest = usualLargest): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > largest) throw new RangeError(`The body is larger than ${largest} bytes.`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
