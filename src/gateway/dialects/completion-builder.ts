// Builds a completion from what a provider streams, as events in a fixed order: start, parts, finish. Providers repeat
// starts, omit ends, send deltas of parts that have not begun and mix kinds in one block; callers must never see that.
import type {
  AssistantPart,
  Citation,
  Completion,
  CompletionEvent,
  FinishReason,
  MediaPart,
  Signature,
  Usage,
} from './conversation.ts';

type TextKind = 'text' | 'reasoning' | 'refusal';

interface OpenPart {
  /** Undefined until the part has begun: a tool call begins when its name is known. */
  index: number | undefined;
  part: AssistantPart;
  /** Chunks of its text or arguments. */
  readonly chunks: string[];
  citations?: Citation[];
}

export class CompletionBuilder {
  characters = 0;
  /** Text, reasoning, a refusal, an image or a tool call has arrived. */
  hasContent = false;
  #events: CompletionEvent[] = [];
  #id = '';
  #model = '';
  #isStarted = false;
  #finish: Pick<Completion, 'finishReason' | 'stopSequence'> | undefined;
  #usage: Usage | undefined;
  #nextIndex = 0;
  readonly #parts: OpenPart[] = [];
  /** The text that grows; a part of another kind ends it. */
  #text: OpenPart | undefined;
  /** Tool calls by the provider's key. They end with the completion: providers may send several at once. */
  readonly #calls = new Map<unknown, OpenPart>();

  /** What the provider calls the response and the model; the first that is not empty counts. */
  start(id: unknown, model: unknown): void {
    if (this.#id === '' && typeof id === 'string') this.#id = id;
    if (this.#model === '' && typeof model === 'string') this.#model = model;
  }

  /** `isNew`: begins another part even if the last one is of the same kind. */
  text(kind: TextKind, text: string, isNew = false): void {
    if (text === '') return;
    if (isNew || this.#text?.part.type !== kind) {
      this.endText();
      this.#text = this.#begin({ type: kind, text: '' });
    }
    this.#append(this.#text, text);
  }

  /** Completes the reasoning that is open, or stands for reasoning that is not shown. */
  signature(signature: Signature, isSummary = false): void {
    if (this.#text?.part.type !== 'reasoning') {
      this.endText();
      this.#text = this.#begin({ type: 'reasoning', text: '' });
    }
    const open = this.#text;
    open.part = { ...open.part, type: 'reasoning', text: '', signature, ...(isSummary && { isSummary }) };
  }

  /** Fields of the text that is open. */
  annotate(citations: readonly Citation[]): void {
    const open = this.#text;
    if (open?.part.type !== 'text') return;
    open.citations ??= [];
    for (const citation of citations) open.citations.push(citation);
  }

  endText(): void {
    if (this.#text) this.#end(this.#text);
    this.#text = undefined;
  }

  /**
   * More about the tool call with this key. Providers that use the key again for another call send another id with it;
   * a call without an id gets one.
   */
  toolCall(
    key: unknown,
    given: {
      readonly id?: unknown;
      readonly name?: unknown;
      readonly isCustom?: boolean;
      readonly signature?: Signature | undefined;
    },
  ): void {
    const id = typeof given.id === 'string' ? given.id : '';
    const name = typeof given.name === 'string' ? given.name : '';
    let open = this.#calls.get(key);
    const known = open?.part.type === 'tool-call' ? open.part : undefined;
    if (!open || (known && known.id !== '' && id !== '' && known.id !== id && name !== '')) {
      if (open) this.#end(open);
      this.endText();
      open = { index: undefined, part: { type: 'tool-call', id: '', name: '', arguments: '' }, chunks: [] };
      this.#parts.push(open);
      this.#calls.set(key, open);
    }
    if (open.part.type !== 'tool-call') return;
    open.part = {
      ...open.part,
      id: open.part.id || id,
      name: open.part.name || name,
      ...(given.isCustom === true && { isCustom: true }),
      ...(given.signature && { signature: given.signature }),
    };
    if (open.index === undefined && open.part.name !== '') this.#beginCall(open);
  }

  /** More of the arguments of the call with this key. */
  toolArguments(key: unknown, text: string): void {
    if (!this.#calls.has(key)) this.toolCall(key, {});
    const open = this.#calls.get(key);
    if (open && text !== '') this.#append(open, text);
  }

  /** All arguments at once, for those that came in no delta. */
  finalArguments(key: unknown, text: string): void {
    const open = this.#calls.get(key);
    if (!open || open.chunks.length === 0) this.toolArguments(key, text);
  }

  endToolCall(key: unknown): void {
    const open = this.#calls.get(key);
    if (!open) return;
    this.#calls.delete(key);
    this.#end(open);
  }

  /** A part that came whole. */
  media(part: MediaPart): void {
    this.endText();
    this.#end(this.#begin(part));
    this.hasContent = true;
  }

  usage(usage: Usage): void {
    this.#usage = usage;
  }

  finish(finishReason: FinishReason, stopSequence?: string): void {
    this.#finish = { finishReason, ...(stopSequence !== undefined && { stopSequence }) };
  }

  get finishReason(): FinishReason | undefined {
    return this.#finish?.finishReason;
  }

  get partCount(): number {
    return this.#parts.length;
  }

  get reportedUsage(): Usage | undefined {
    return this.#usage;
  }

  /** The events since the last call. */
  take(): readonly CompletionEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Ends every part and the completion. `usage` is for providers that reported none. */
  end(usage?: Usage): Completion {
    this.endText();
    for (const open of this.#calls.values()) this.#end(open);
    this.#calls.clear();
    // A call that never got a name has no index: it cannot be executed, and is dropped with its arguments.
    const parts = this.#parts
      .filter(({ index }) => index !== undefined)
      .toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
      .map(({ part }) => part);
    const reason = this.#finish?.finishReason ?? 'stop';
    const hasCalls = parts.some(({ type }) => type === 'tool-call');
    const reported = this.#usage ?? usage;
    const completion: Completion = {
      id: this.#id,
      model: this.#model,
      parts,
      ...this.#finish,
      // Many providers finish tool calls with `stop`; clients then do not execute them.
      finishReason: hasCalls && reason === 'stop' ? 'tool-calls' : reason,
      ...(reported && { usage: reported }),
    };
    this.#start();
    this.#events.push({ type: 'finish', completion });
    return completion;
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#events.push({ type: 'start', id: this.#id, model: this.#model });
  }

  #begin(part: AssistantPart): OpenPart {
    const open: OpenPart = { index: undefined, part, chunks: [] };
    this.#parts.push(open);
    this.#announce(open);
    return open;
  }

  #announce(open: OpenPart): void {
    this.#start();
    open.index = this.#nextIndex++;
    this.#events.push({ type: 'part', index: open.index, part: open.part });
  }

  #beginCall(open: OpenPart): void {
    if (open.part.type !== 'tool-call') return;
    this.hasContent = true;
    if (open.part.id === '')
      open.part = { ...open.part, id: `call_${this.#id.slice(-24)}_${this.#nextIndex}` };
    this.#announce(open);
    const text = open.chunks.join('');
    if (text !== '' && open.index !== undefined)
      this.#events.push({ type: 'delta', index: open.index, text });
  }

  #append(open: OpenPart, text: string): void {
    open.chunks.push(text);
    this.characters += text.length;
    if (open.index === undefined) return;
    this.hasContent = true;
    this.#events.push({ type: 'delta', index: open.index, text });
  }

  #end(open: OpenPart): void {
    if (open.index === undefined) return;
    const text = open.chunks.join('');
    const { part, citations } = open;
    if (part.type === 'tool-call') open.part = { ...part, arguments: text };
    else if (part.type === 'text') open.part = { ...part, text, ...(citations && { citations }) };
    else if ('text' in part) open.part = { ...part, text };
    this.#events.push({ type: 'part-end', index: open.index, part: open.part });
  }
}

/** The events of a completion that came whole. */
export function eventsOf(completion: Completion): readonly CompletionEvent[] {
  const events: CompletionEvent[] = [{ type: 'start', id: completion.id, model: completion.model }];
  for (const [index, part] of completion.parts.entries()) {
    const text = part.type === 'tool-call' ? part.arguments : 'text' in part ? part.text : '';
    const empty =
      part.type === 'tool-call' ? { ...part, arguments: '' } : 'text' in part ? { ...part, text: '' } : part;
    events.push({ type: 'part', index, part: empty });
    if (text !== '') events.push({ type: 'delta', index, text });
    events.push({ type: 'part-end', index, part });
  }
  events.push({ type: 'finish', completion });
  return events;
}
