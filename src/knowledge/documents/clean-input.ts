// What strangers send, without what no store keeps and nobody sees.
import { CoreError } from '../../core/index.ts';
import type { ContextClues, StructuredMention } from '../ports.ts';
import { somebody } from './json-people.ts';

/** As many as a chunk of 10,000 names: they are resolved together. */
const mostMentions = 10_000;
const longestName = 300;
const largestMetadataBytes = 65_536;
const deepestMetadata = 20;

/** Without NUL, which Postgres refuses, and without halves of characters; offsets are of this text. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** Control and format characters, and what shows nothing. */
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Does it show nothing: blanks, and characters without a shape? */
export const isBlank = (text: string): boolean => !visible.test(text);
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Names that show nothing are left out, and too many are too many; each of both is a sentence for the owner. */
export function cleanMentions(given: readonly StructuredMention[]): {
  readonly mentions: readonly StructuredMention[];
  readonly warnings: readonly string[];
  readonly truncated: number;
} {
  const seen = given.slice(0, mostMentions).flatMap((mention) => {
    const surfaceForm = mention.surfaceForm
      .toWellFormed()
      .replace(invisible, '')
      .trim()
      .slice(0, longestName);
    return surfaceForm === '' ? [] : [{ ...mention, surfaceForm: surfaceForm.toWellFormed() }];
  });
  const empty = Math.min(given.length, mostMentions) - seen.length;
  return {
    mentions: withoutRepeats(seen),
    truncated: Math.max(0, given.length - mostMentions),
    warnings: [
      ...(empty > 0 ? [`Left out for want of a visible name: ${empty} of its structured mentions.`] : []),
      ...(given.length > mostMentions
        ? [`Only the first ${mostMentions} of its ${given.length} structured mentions were taken.`]
        : []),
    ],
  };
}

/** Whom the source and the text's own fields name is named once for each relation; what only one knows stays known. */
function withoutRepeats(given: readonly StructuredMention[]): readonly StructuredMention[] {
  return [...Map.groupBy(given, whoIs).values()].flatMap((same) => {
    const contextClues = same.reduceRight<ContextClues>(
      (clues, mention) => ({ ...clues, ...mention.contextClues }),
      {},
    );
    const telling = same.filter(({ relation }) => relation !== somebody);
    const byRelation = Map.groupBy(telling.length === 0 ? same : telling, ({ relation }) => relation);
    return [...byRelation.values()].flatMap(([mention]) => (mention ? [{ ...mention, contextClues }] : []));
  });
}

/** Two folders may be called the same; people are who their address says. */
const whoIs = ({ surfaceForm, type, contextClues: { email, identity } }: StructuredMention): string =>
  JSON.stringify([
    surfaceForm.toLowerCase(),
    type,
    (type === 'person' ? email?.toLowerCase() : identity) ?? null,
  ]);

/** As JSON that the store takes. Fails with INPUT_INVALID when it is larger than it may be. */
export function cleanMetadata(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (isDeeper(given, deepestMetadata))
    throw new CoreError(
      'INPUT_INVALID',
      `Nothing was taken in. The metadata is nested more than ${deepestMetadata} levels deep.`,
    );
  const text = JSON.stringify(given, withCleanNames);
  if (Buffer.byteLength(text) > largestMetadataBytes)
    throw new CoreError(
      'INPUT_INVALID',
      `Nothing was taken in. The metadata has more than ${largestMetadataBytes.toLocaleString('en')} bytes as JSON.`,
    );
  // These are ours.
  const {
    mentions: _,
    data: __,
    mentions_truncated: ___,
    ...metadata
  } = JSON.parse(text) as Record<string, unknown>;
  return metadata;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

function withCleanNames(_: string, value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [cleanText(key), each as unknown]));
}
