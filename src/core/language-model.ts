// A chat completion as domains request it (the gateway serves it, knowledge and workflows use it), its repair when the
// answer cannot be used, and the JSON in the text of a model: after its reasoning, inside a code fence or prose, with
// superfluous commas.
import { abortable } from './abort.ts';
import { hasMoreValues } from './text.ts';

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content:
    | string
    | readonly (
        | { readonly type: 'text'; readonly text: string }
        | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }
      )[];
}

export interface TextMessage extends ChatMessage {
  readonly content: string;
}

export interface TextRequest {
  readonly requestId: string;
  /** Billed caller: `org:ID`, or `admin`. */
  readonly caller: string;
  readonly messages: readonly ChatMessage[];
  /** Default: `auto`. */
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  /** Requests one JSON object. Callers should parse leniently: not every model has a JSON mode. */
  readonly json?: boolean | undefined;
  /** With `json`: the schema to request where models support it. */
  readonly schema?: AnswerSchema | undefined;
  /** A deadline of the signal is the deadline of the request. */
  readonly signal: AbortSignal;
}

/** A JSON schema in the strict form of the providers: every property is required, none is added. */
export interface AnswerSchema {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** The text of the first choice, and the name of the model that answered. */
export interface TextCompletion {
  readonly text: string;
  readonly model: string;
}

/** The value of an answer, or everything that is wrong with it. */
export type ParsedResponse<T> = { readonly value: T } | { readonly problems: readonly string[] };

export interface RepairableCompletion<T, Message extends ChatMessage> {
  readonly messages: readonly Message[];
  readonly complete: (messages: readonly (Message | TextMessage)[]) => Promise<TextCompletion>;
  readonly parse: (text: string) => ParsedResponse<T> | Promise<ParsedResponse<T>>;
  /** In characters: longer answers are not parsed. */
  readonly maxAnswerLength: number;
  /** In characters: how much of an unusable answer the repair prompt repeats. */
  readonly maxRepeatedLength: number;
  /** The error when the answer and its repair are both unusable. */
  readonly unusable: (problems: readonly string[], model: string) => Error;
  readonly signal: AbortSignal;
}

/** One completion, and one more with the problems in its prompt if the answer cannot be used. Fails as `complete` does. */
export async function completeWithRepair<T, Message extends ChatMessage>(
  request: RepairableCompletion<T, Message>,
): Promise<{ readonly value: T; readonly model: string }> {
  const first = await parsedCompletion(request, () => request.complete(request.messages));
  if ('value' in first) return first;
  const list = first.problems.map((problem) => `\n- ${problem}`).join('');
  const repeated = first.text.slice(0, request.maxRepeatedLength).toWellFormed();
  const repair: readonly TextMessage[] = [
    { role: 'assistant', content: repeated || '(nothing)' },
    {
      role: 'user',
      content: `That cannot be used:${list}\n\nAnswer again with the corrected JSON, complete, and nothing else.`,
    },
  ];
  const second = await parsedCompletion(request, () => request.complete([...request.messages, ...repair]));
  if ('value' in second) return second;
  throw request.unusable(second.problems, second.model);
}

async function parsedCompletion<T>(
  {
    parse,
    maxAnswerLength,
    signal,
  }: Pick<RepairableCompletion<T, ChatMessage>, 'parse' | 'maxAnswerLength' | 'signal'>,
  complete: () => Promise<TextCompletion>,
): Promise<TextCompletion & ParsedResponse<T>> {
  signal.throwIfAborted();
  // A model that ignores its signal is not awaited.
  const { text, model } = await abortable(complete(), signal);
  if (typeof text !== 'string') return { text: '', model, problems: ['It is no text.'] };
  if (text.length > maxAnswerLength)
    return {
      text,
      model,
      problems: [`It has ${text.length} characters; at most ${maxAnswerLength} are read.`],
    };
  return { text, model, ...(await parse(text)) };
}

interface FoundJson {
  readonly value: unknown;
}

/** Longer than any response of a model: a document must not make the search unbounded. */
export const maxResponseLength = 400_000;
/** Brackets and commas. More than a usable response has, and parsing two million brackets takes 130 ms. */
const maxValues = 200_000;
/** Brackets in prose that are tried. Each costs a scan of the rest, */
const maxStarts = 10;
/** within this many characters in addition to the text itself. */
const maxScanned = 500_000;

/**
 * The whole text if it is JSON; else the content of the last code fence that is; else the longest object or array in the
 * text. Accepts Python's None, True and False, and commas before a closing bracket, up to a usual length. Undefined when
 * there is none, or when the text is longer than `maxLength` or has very many brackets and commas. Never throws.
 */
export function findJson(response: string, maxLength = maxResponseLength): FoundJson | undefined {
  if (response.length > maxLength || hasMoreValues(response, maxValues)) return undefined;
  const text = withoutReasoning(response.replace(/^\uFEFF/, ''));
  const fences = Array.from(text.matchAll(/```[^\n`]*\n([^]*?)```/g), ([, inside]) => inside ?? '');
  for (const candidate of [text, ...fences.toReversed()]) {
    const found = parse(candidate);
    if (found) return found;
  }
  return bracketed(text)
    .map(parse)
    .find((found) => found !== undefined);
}

/** Reasoning ends with a tag. If nothing follows it, the result may be inside. */
function withoutReasoning(text: string): string {
  const ends = ['</think>', '</thinking>'].map((tag) => {
    const at = text.lastIndexOf(tag);
    return at < 0 ? 0 : at + tag.length;
  });
  const rest = text.slice(Math.max(...ends));
  return rest.trim() === '' ? text : rest;
}

function parse(candidate: string): FoundJson | undefined {
  const text = candidate.trim();
  if (text === '') return undefined;
  const found = parseStrictly(text);
  return found || text.length > maxResponseLength ? found : parseStrictly(corrected(text));
}

function parseStrictly(text: string): FoundJson | undefined {
  const value = parseJson(text);
  return value === undefined ? undefined : { value };
}

/** Undefined for text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const mistake = /,(?=\s*[}\]])|\b(?:None|True|False)\b/g;
const corrections: Readonly<Record<string, string>> = { None: 'null', True: 'true', False: 'false', ',': '' };

/** Strings stay unchanged. */
function corrected(text: string): string {
  const parts: string[] = [];
  const correct = (part: string) => part.replaceAll(mistake, (match) => corrections[match] ?? match);
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) {
      parts.push(correct(text.slice(at)));
      break;
    }
    const end = endOfString(text, quote);
    const next = end < 0 ? text.length : end + 1;
    parts.push(correct(text.slice(at, quote)), text.slice(quote, next));
    at = next;
  }
  return parts.join('');
}

/** Objects and arrays in prose, longest first. */
function bracketed(text: string): readonly string[] {
  const found: string[] = [];
  let starts = 0;
  let scanned = -text.length;
  for (let at = nextOpening(text, 0); at >= 0 && starts < maxStarts && scanned < maxScanned; starts++) {
    const end = closingOf(text, at);
    scanned += (end > 0 ? end : text.length) - at;
    if (end > 0) found.push(text.slice(at, end));
    at = nextOpening(text, end > 0 ? end : at + 1);
  }
  return found.sort((one, other) => other.length - one.length);
}

function nextOpening(text: string, from: number): number {
  const at = text.slice(from).search(/[{[]/);
  return at < 0 ? -1 : from + at;
}

/** Character codes: comparing texts of one character takes twice as long. */
const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = Array.from('"\\{}[]', (sign) =>
  sign.charCodeAt(0),
);

/** The end of the object or array that starts at `start`; -1 when it is not closed. */
function closingOf(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === quote) {
      at = endOfString(text, at);
      if (at < 0) return -1;
    } else if (character === openBrace || character === openBracket) depth += 1;
    else if ((character === closeBrace || character === closeBracket) && --depth === 0) return at + 1;
  }
  return -1;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === backslash) at += 1;
    else if (character === quote) return at;
  }
  return -1;
}
