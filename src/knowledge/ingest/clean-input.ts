// What strangers send, without what no store keeps and nobody sees.
import { CoreError } from '../../core/index.ts';
import type { StructuredMention } from '../ports.ts';

const mostMentions = 1_000;
const longestName = 300;
const largestMetadataBytes = 65_536;

/** Without NUL, which Postgres refuses, and without halves of characters; offsets are of this text. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Control and format characters, and what shows nothing. */
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Names that show nothing are left out, and too many are too many; each of both is a sentence for the owner. */
export function cleanMentions(given: readonly StructuredMention[]): {
  readonly mentions: readonly StructuredMention[];
  readonly warnings: readonly string[];
} {
  const visible = given.slice(0, mostMentions).flatMap((mention) => {
    const surfaceForm = mention.surfaceForm
      .toWellFormed()
      .replace(invisible, '')
      .trim()
      .slice(0, longestName);
    return surfaceForm === '' ? [] : [{ ...mention, surfaceForm: surfaceForm.toWellFormed() }];
  });
  const empty = Math.min(given.length, mostMentions) - visible.length;
  return {
    mentions: visible,
    warnings: [
      ...(empty > 0 ? [`Left out for want of a visible name: ${empty} of its structured mentions.`] : []),
      ...(given.length > mostMentions
        ? [`Only the first ${mostMentions} of its ${given.length} structured mentions were taken.`]
        : []),
    ],
  };
}

/** As JSON that the store takes. Fails with INPUT_INVALID when it is larger than it may be. */
export function cleanMetadata(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(given, withCleanNames);
  if (Buffer.byteLength(text) > largestMetadataBytes)
    throw new CoreError(
      'INPUT_INVALID',
      `Nothing was taken in. The metadata has more than ${largestMetadataBytes.toLocaleString('en')} bytes as JSON.`,
    );
  const { mentions: _, ...metadata } = JSON.parse(text) as Record<string, unknown>;
  return metadata;
}

function withCleanNames(_: string, value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [cleanText(key), each as unknown]));
}
