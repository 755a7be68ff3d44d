// Events of a stream of chat completions that need not be parsed: they mostly differ in the text of their delta only.
import { latin1Of } from '../../core/index.ts';
import { asObject, objectsIn, textIn } from '../dialects/json.ts';
import type { JsonObject } from '../dialects/json.ts';
import { readUsage } from '../dialects/openai-chat-output.ts';

/** After so many events without a similar one, none is compared: the provider writes something new into each. */
const maxDifferent = 8;
/** Larger events are rare, and mostly images. */
const maxComparedBytes = 4_096;

/** Compares what precedes and follows the text with an event that was parsed. */
export class SimilarEvents {
  /** In Latin-1, so that each character is a byte. Empty: none was parsed yet. */
  #before = '';
  #after = '';
  #different = 0;

  /** `chunk`: the parsed event, which has so many characters of content. */
  learn(bytes: Uint8Array, chunk: JsonObject, characters: number): void {
    if (this.#different >= maxDifferent || bytes.length > maxComparedBytes) return;
    this.#different++;
    const delta = readUsage(chunk) ? undefined : firstText(chunk);
    if (delta?.text.length !== characters) return;
    const event = latin1Of(bytes);
    // Not found if it has escapes.
    const written = latin1Of(Buffer.from(`"${delta.field}":"${delta.text}"`));
    const at = event.indexOf(written);
    if (at < 0 || event.includes(written, at + 1)) return;
    const end = at + written.length - 1;
    this.#before = event.slice(0, at + delta.field.length + 4);
    this.#after = event.slice(end);
  }

  /** Undefined unless all of `chunk` consists of similar events. */
  read(chunk: Uint8Array): { readonly events: number; readonly characters: number } | undefined {
    if (this.#before === '') return undefined;
    const received = latin1Of(chunk);
    let events = 0;
    let characters = 0;
    for (let at = 0; at < received.length; events++) {
      if (!received.startsWith(this.#before, at)) return undefined;
      const start = at + this.#before.length;
      const end = received.indexOf('"', start);
      if (end <= start || !received.startsWith(this.#after, end)) return undefined;
      const length = textLength(received, start, end);
      if (length === undefined) return undefined;
      characters += length;
      at = end + this.#after.length;
    }
    this.#different = 0;
    return { events, characters };
  }
}

const textFields = ['content', 'reasoning_content', 'reasoning'];

function firstText(chunk: JsonObject): { readonly field: string; readonly text: string } | undefined {
  const delta = asObject(objectsIn(chunk['choices'])[0]?.['delta']);
  for (const field of textFields) {
    const text = textIn(delta?.[field]);
    if (text) return { field, text };
  }
  return undefined;
}

/** UTF-16 units of UTF-8 between two positions; undefined for escapes and control characters, which are left to the parser. */
function textLength(latin1: string, start: number, end: number): number | undefined {
  let length = end - start;
  for (let at = start; at < end; at++) {
    const byte = latin1.charCodeAt(at);
    if (byte < 0x20 || byte === 0x5c) return undefined;
    // Continuation bytes belong to the unit before; four bytes make two units.
    if (byte >= 0x80 && byte < 0xc0) length--;
    else if (byte >= 0xf0) length++;
  }
  return length;
}
