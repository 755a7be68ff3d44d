// What of a document made of data is prose: rules read that, and nothing else. Names of fields are nobody's.
import type { Chunk, Revision } from '../ports.ts';

/**
 * How a revision that is data says so, in its metadata under `data`. `lines`: as `jsonText` writes it, prose stands in
 * values; `raw`: nobody knows where, so all of it is searched and none of it read.
 */
export type DataForm = 'lines' | 'raw';

/** Names of fields that hold sentences, whatever their length. */
const proseNames =
  /(?:^|[._ -])(?:description|descriptions?|notes?|comments?|body|text|message|content|summary|details?|reason|minutes|remarks?|abstract|bio|agenda|feedback|answer|question|decision|action)$/i;
/** Names of fields that never do, whatever stands there. */
const technicalNames =
  /(?:^|[._ -])(?:ids?|uuid|guid|urls?|uris?|href|links?|path|file(?:name)?|slug|hash|token|keys?|sql(?:_\w+)?|query|expressions?|formula|code|script|html|css|regex|pattern|filters?|sorts?|fields?|titles?|names?|labels?|tags?|types?|kinds?|status|states?|format|colou?rs?|timezone|locale|lookml|user_?agent|stack(?:_?trace)?)$/i;
const leastWords = { inProseFields: 3, elsewhere: 5 } as const;
/** Titles And Headings Are Written Like This; in sentences of any language most words are not. */
const leastSmall = 0.25;
/** Code, addresses and figures have fewer words than that among what stands between blanks. */
const leastPlain = 0.6;
const plainWord = /^["'(“„«]?[\p{L}\p{M}][\p{L}\p{M}'’-]*[.,;:!?)”"'»]*$/u;
/** Scripts without blanks between words: their sentences are as long as so many characters. */
const dense =
  /(?:[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Khmer}\p{scx=Lao}\p{scx=Myanmar}][\s\S]?){12}/u;

/** Does a value of a field of this name hold sentences? */
export function isProse(path: string, value: string): boolean {
  const name = camelParted(path.replaceAll(/\[\d+\]/g, ''));
  if (technicalNames.test(name)) return false;
  const words = value.split(/\s+/).filter((word) => word !== '');
  const plain = words.filter((word) => plainWord.test(word));
  const small = plain.filter((word) => /^["'(“„«]?\p{Ll}/u.test(word));
  const least = proseNames.test(name) ? leastWords.inProseFields : leastWords.elsewhere;
  if (dense.test(value)) return true;
  return (
    words.length >= least &&
    plain.length >= words.length * leastPlain &&
    small.length >= plain.length * leastSmall
  );
}

/** `noteText` and `note_text` end alike. */
const camelParted = (name: string): string => name.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1_$2');

/** Texts of revisions that chunks are read of, one after the other: each is looked through once. */
const known = new WeakMap<object, string>();

/** The revision's text, with blanks for everything that is not to be read by rules: offsets stay. */
export function proseOf(revision: Pick<Revision, 'metadata'> & { readonly text: string }): string {
  const form = revision.metadata['data'];
  if (form !== 'lines' && form !== 'raw') return revision.text;
  const found = known.get(revision) ?? (form === 'raw' ? blanked(revision.text) : proseLines(revision.text));
  known.set(revision, found);
  return found;
}

/** Is there anything to read in this chunk of it? */
export const hasProse = (
  revision: Parameters<typeof proseOf>[0],
  { startChar, endChar }: Pick<Chunk, 'startChar' | 'endChar'>,
): boolean => /\S/.test(proseOf(revision).slice(startChar, endChar));

function proseLines(text: string): string {
  const kept: string[] = [];
  let block: string[] = [];
  const flush = (): void => {
    kept.push(...proseOfBlock(block));
    block = [];
  };
  for (const line of text.split('\n')) {
    // Behind two blanks a value goes on.
    if (!line.startsWith('  ')) flush();
    block.push(line);
  }
  flush();
  return kept.join('\n');
}

const field = /^(?:- |(.*?):(?: |$))/;

/** One value, with its name in front. */
function proseOfBlock(lines: readonly string[]): readonly string[] {
  const [first = '', ...others] = lines;
  const [head = '', path = ''] = field.exec(first) ?? [];
  const isKept = isProse(path, [first.slice(head.length), ...others].join('\n'));
  return isKept ? [blanked(head) + first.slice(head.length), ...others] : lines.map(blanked);
}

const blanked = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
