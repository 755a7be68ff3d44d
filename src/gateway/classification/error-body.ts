// What providers write into the bodies of their refusals: codes for machines, sentences for people.

type Json = Readonly<Record<string, unknown>>;

export interface ErrorBody {
  readonly isJson: boolean;
  /** Codes, types, reasons; in lower case. */
  readonly codes: ReadonlySet<string>;
  /** Sentences, the most telling first. */
  readonly messages: readonly string[];
  /** A status that the body itself claims (OpenRouter: 200 with `error.code: 429`). */
  readonly status: number | undefined;
}

/** Larger bodies are not error messages. */
export const longestErrorBody = 64 * 1024;
/** Of a sentence: what matters stands at its start, and patterns must not crawl over pages. */
const longestMessage = 2_000;

const codeFields = ['code', 'type', 'status', 'reason', 'statusCode', 'status_code'];
const messageFields = ['message', 'msg', 'detail', 'error', 'title'];
/** Where errors hide in errors: Azure's innererror, Gemini's details, FastAPI's detail, OpenRouter's metadata.raw. */
const innerFields = ['error', 'errors', 'detail', 'details', 'innererror', 'metadata', 'raw'];
const deepest = 5;

/** Never throws. Text that is no JSON is one message, unless it is a web page. */
export function readErrorBody(body: string): ErrorBody {
  const found = {
    codes: new Set<string>(),
    messages: new Set<string>(),
    status: undefined as number | undefined,
  };
  const json = body.length > longestErrorBody ? undefined : parsed(body);
  if (json === undefined) {
    const text = body.trim();
    const isSentence = text !== '' && text.length <= longestMessage && !text.startsWith('<');
    return { isJson: false, codes: found.codes, messages: isSentence ? [text] : [], status: undefined };
  }
  collect(json, found, 0);
  return { isJson: true, codes: found.codes, messages: [...found.messages], status: found.status };
}

interface Found {
  readonly codes: Set<string>;
  readonly messages: Set<string>;
  status: number | undefined;
}

function collect(value: unknown, found: Found, depth: number): void {
  if (depth > deepest) return;
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 10)) collect(item, found, depth + 1);
    return;
  }
  if (typeof value === 'string') {
    const inner = parsed(value);
    if (inner === undefined) found.messages.add(value.slice(0, longestMessage));
    else collect(inner, found, depth + 1);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const object = value as Json;
  // Inside first: "Provider returned error" is told around the error that was returned.
  for (const field of innerFields)
    if (typeof object[field] === 'object' || field === 'raw') collect(object[field], found, depth + 1);
  for (const field of messageFields)
    if (typeof object[field] === 'string') found.messages.add(object[field].slice(0, longestMessage));
  for (const field of codeFields) addCode(object[field], found);
}

function addCode(code: unknown, found: Found): void {
  if (typeof code !== 'string' && typeof code !== 'number') return;
  found.codes.add(String(code).toLowerCase());
  const number = Number(code);
  if (Number.isInteger(number) && number >= 400 && number <= 599) found.status ??= number;
}

/** An object or array; undefined for anything else, plain numbers and texts included. */
function parsed(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}
