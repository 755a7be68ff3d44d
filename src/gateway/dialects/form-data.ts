// Bodies as multipart/form-data (audio, image edits): finds and replaces the field `model`, all other bytes stay.
import type { Span } from '../types.ts';
import { invalidField } from './dialect.ts';

/** A few fields and files; millions of parts would take a second to search. */
const maxParts = 1_000;
/** Headers of a part are a name, a file name and a type. */
const maxPartHeaderBytes = 8 * 1024;

const headerEnd = Buffer.from('\r\n\r\n');

/** Fails with INPUT_INVALID for a content type without a boundary. */
function boundaryOf(contentType: string): Buffer {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined)
    throw invalidField('body', 'is multipart without a boundary in its content type');
  return Buffer.from(`--${boundary}`);
}

/** The values of the fields with this name. Fails with INPUT_INVALID for a body without parts. */
export function formFields(body: Buffer, contentType: string, name: string): readonly Span[] {
  const boundary = boundaryOf(contentType);
  const spans: Span[] = [];
  let at = body.indexOf(boundary);
  if (at < 0) throw invalidField('body', 'has no parts with the boundary of its content type');
  for (let parts = 0; ; parts++) {
    if (parts > maxParts) throw invalidField('body', `has more than ${maxParts.toLocaleString('en')} parts`);
    const start = at + boundary.length;
    const next = body.indexOf(boundary, start);
    if (next < 0) return spans;
    const end = body.subarray(start, Math.min(next, start + maxPartHeaderBytes)).indexOf(headerEnd);
    if (end >= 0 && isNamed(body.subarray(start, start + end).toString('latin1'), name))
      // Up to the line end before the next boundary.
      spans.push([start + end + headerEnd.length, Math.max(start + end + headerEnd.length, next - 2)]);
    at = next;
  }
}

function isNamed(headers: string, name: string): boolean {
  const line = headers.split('\r\n').find((each) => each.toLowerCase().startsWith('content-disposition:'));
  const parameters = line?.split(';').map((each) => each.trim()) ?? [];
  return parameters.includes(`name="${name}"`) || parameters.includes(`name=${name}`);
}

/** A copy with the provider's name of the model. */
export function spliceFormModel(
  body: Uint8Array,
  contentType: string,
  modelSpans: readonly Span[],
  upstreamModel: string,
): Uint8Array {
  if (modelSpans.length === 0) {
    const part = `\r\nContent-Disposition: form-data; name="model"\r\n\r\n${upstreamModel}\r\n`;
    return Buffer.concat([boundaryOf(contentType), Buffer.from(part), body]);
  }
  const parts: Uint8Array[] = [];
  let from = 0;
  for (const [start, end] of modelSpans) {
    parts.push(body.subarray(from, start), Buffer.from(upstreamModel));
    from = end;
  }
  return Buffer.concat([...parts, body.subarray(from)]);
}
