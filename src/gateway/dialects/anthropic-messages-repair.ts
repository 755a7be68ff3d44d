// Streams of providers with a Messages API of their own that break its rules, for callers of the same API: an event that
// follows the rules passes as it came, the others are corrected.
import { emptyMessage, encodeUsage } from './anthropic-messages-output.ts';
import type { Usage } from './conversation.ts';
import type { Repaired, ResponseContext, StreamRepair } from './dialect.ts';
import { parseEvent } from './dialect.ts';
import type { JsonObject } from './json.ts';
import { asObject, textIn } from './json.ts';
import type { SseEvent } from './wire.ts';

type Kind = 'text' | 'thinking' | 'call';

interface Block {
  /** As it is sent: the provider's may repeat. */
  readonly index: number;
  readonly kind: Kind | undefined;
  /** A text that may turn out to be thinking: its start is sent with its first delta. */
  heldStart: Repaired | undefined;
  isOpen: boolean;
}

const kindOfDelta: Readonly<Record<string, Kind>> = {
  text_delta: 'text',
  citations_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
  input_json_delta: 'call',
};

const emptyBlocks = {
  text: { type: 'text', text: '' },
  thinking: { type: 'thinking', thinking: '', signature: '' },
} as const;

export class MessagesRepair implements StreamRepair {
  readonly #context: ResponseContext;
  /** As far as it is known; for providers that report none. */
  readonly #usage: () => Usage;
  readonly #isUsageReported: () => boolean;
  #isStarted = false;
  /** What `message_delta` says; blocks that follow it are sent before. */
  readonly #heldEnd: Repaired[] = [];
  #hasStopped = false;
  #nextIndex = 0;
  /** By the provider's index: where its deltas go. */
  readonly #blocks = new Map<unknown, Block>();
  /** Those that are open, in their order; of those that are no calls the last one. */
  readonly #open = new Set<Block>();
  #openText: Block | undefined;
  #lastCall: Block | undefined;
  /** The caller has a tool to run. */
  #hasToolUse = false;

  constructor(context: ResponseContext, usage: () => Usage, isUsageReported: () => boolean) {
    this.#context = context;
    this.#usage = usage;
    this.#isUsageReported = isUsageReported;
  }

  read(event: SseEvent): readonly Repaired[] {
    const given = event.data === undefined ? undefined : parseEvent(event.data);
    if (!given) return [event.bytes];
    const type = textIn(given['type']) ?? event.name;
    const typed = given['type'] === type ? given : { type, ...given };
    // What has not changed keeps its bytes. Clients ignore an event without a name.
    const isNamed = event.name === type;
    return this.#repair(type, typed, (sent) => (sent === given && isNamed ? event.bytes : sent));
  }

  end(): readonly Repaired[] {
    return this.#hasStopped ? [] : this.#stop({ type: 'message_stop' });
  }

  #repair(type: string, event: JsonObject, toSend: (event: JsonObject) => Repaired): readonly Repaired[] {
    switch (type) {
      case 'message_start':
        if (this.#isStarted) return [];
        this.#isStarted = true;
        return [toSend(this.#withUsage(event))];
      case 'content_block_start':
        return [...this.#start(), ...this.#begin(event, toSend)];
      case 'content_block_delta':
        return [...this.#start(), ...this.#delta(event, toSend)];
      case 'content_block_stop': {
        const block = this.#blocks.get(event['index']);
        return block?.isOpen ? this.#close(block, toSend(at(event, block))) : [];
      }
      case 'message_delta':
        this.#heldEnd.push(toSend(this.#withStopReason(this.#withFinalUsage(event))));
        return [];
      case 'message_stop':
        return this.#stop(toSend(event));
      default:
        return [toSend(event)];
    }
  }

  #start(): readonly Repaired[] {
    if (this.#isStarted) return [];
    this.#isStarted = true;
    return [{ type: 'message_start', message: emptyMessage(this.#context, '') }];
  }

  /** Clients add up the fields of usage. */
  #withUsage(event: JsonObject): JsonObject {
    const message = asObject(event['message']);
    const usage = asObject(message?.['usage']);
    const empty = emptyMessage(this.#context, '');
    const isComplete =
      typeof usage?.['input_tokens'] === 'number' &&
      typeof usage['output_tokens'] === 'number' &&
      usage['cache_read_input_tokens'] !== undefined &&
      usage['cache_creation_input_tokens'] !== undefined;
    if (isComplete && Array.isArray(message?.['content'])) return event;
    const { input_tokens: input, output_tokens: output, ...others } = usage ?? {};
    const counted = {
      ...empty.usage,
      ...others,
      ...(typeof input === 'number' && { input_tokens: input }),
      ...(typeof output === 'number' && { output_tokens: output }),
    };
    return { ...event, message: { ...empty, ...message, content: [], usage: counted } };
  }

  #withFinalUsage(event: JsonObject): JsonObject {
    const usage = asObject(event['usage']);
    const isZero =
      usage?.['input_tokens'] === 0 &&
      !usage['cache_read_input_tokens'] &&
      !usage['cache_creation_input_tokens'];
    if (typeof usage?.['output_tokens'] === 'number' && this.#isUsageReported() && !isZero) return event;
    const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens } = encodeUsage(
      this.#usage(),
    );
    return {
      ...event,
      usage: { ...usage, input_tokens, cache_creation_input_tokens, cache_read_input_tokens, output_tokens },
    };
  }

  /** Many providers finish tool calls as text; clients then do not execute them. */
  #withStopReason(event: JsonObject): JsonObject {
    const delta = asObject(event['delta']);
    return this.#hasToolUse && delta?.['stop_reason'] === 'end_turn'
      ? { ...event, delta: { ...delta, stop_reason: 'tool_use' } }
      : event;
  }

  #begin(event: JsonObject, toSend: (event: JsonObject) => Repaired): readonly Repaired[] {
    const content = asObject(event['content_block']) ?? {};
    const type = textIn(content['type']) ?? '';
    this.#hasToolUse ||= type === 'tool_use';
    const before = this.#blocks.get(event['index']);
    const ended = [...this.#leaveTexts(), ...(before?.isOpen ? this.#close(before) : [])];
    const kind = type.endsWith('tool_use')
      ? 'call'
      : type === 'text' || type === 'thinking'
        ? type
        : undefined;
    const block = this.#add(event['index'], kind);
    const start = toSend(at(event, block));
    if (kind !== 'text' || (textIn(content['text']) ?? '') !== '') return [...ended, start];
    block.heldStart = start;
    return ended;
  }

  #add(key: unknown, kind: Kind | undefined): Block {
    const block: Block = { index: this.#nextIndex++, kind, heldStart: undefined, isOpen: true };
    this.#blocks.set(key, block);
    this.#open.add(block);
    if (kind === 'call') this.#lastCall = block;
    else this.#openText = block;
    return block;
  }

  #delta(event: JsonObject, toSend: (event: JsonObject) => Repaired): readonly Repaired[] {
    const type = textIn(asObject(event['delta'])?.['type']) ?? '';
    const kind = kindOfDelta[type];
    const block = this.#blocks.get(event['index']);
    if (block?.isOpen && (kind === undefined || block.kind === kind))
      return [...release(block), toSend(at(event, block))];
    if (kind === 'call') return this.#lastCall?.isOpen ? [toSend(at(event, this.#lastCall))] : [];
    if (type !== 'text_delta' && type !== 'thinking_delta') return [];
    const ended = this.#leaveTexts();
    const next = this.#add(event['index'], kind);
    const content_block = emptyBlocks[kind === 'thinking' ? 'thinking' : 'text'];
    return [
      ...ended,
      { type: 'content_block_start', index: next.index, content_block },
      toSend(at(event, next)),
    ];
  }

  /** Before another block begins; calls may overlap. A text of which nothing was sent is left out. */
  #leaveTexts(): readonly Repaired[] {
    const block = this.#openText;
    if (!block) return [];
    const isUnsent = block.heldStart !== undefined && block.index === this.#nextIndex - 1;
    if (!isUnsent) return this.#close(block);
    this.#end(block);
    this.#nextIndex -= 1;
    return [];
  }

  #close(block: Block, stop?: Repaired): readonly Repaired[] {
    this.#end(block);
    return [...release(block), stop ?? { type: 'content_block_stop', index: block.index }];
  }

  #end(block: Block): void {
    block.isOpen = false;
    this.#open.delete(block);
    if (this.#openText === block) this.#openText = undefined;
  }

  #closeAll(): readonly Repaired[] {
    return [...this.#open].flatMap((block) => this.#close(block));
  }

  #stop(stop: Repaired): readonly Repaired[] {
    this.#hasStopped = true;
    const delta = { stop_reason: this.#hasToolUse ? 'tool_use' : 'end_turn', stop_sequence: null };
    const end =
      this.#heldEnd.length > 0 ? this.#heldEnd : [this.#withFinalUsage({ type: 'message_delta', delta })];
    return [...this.#start(), ...this.#closeAll(), ...end, stop];
  }
}

function release(block: Block): readonly Repaired[] {
  const { heldStart } = block;
  block.heldStart = undefined;
  return heldStart ? [heldStart] : [];
}

const at = (event: JsonObject, { index }: Block): JsonObject =>
  event['index'] === index ? event : { ...event, index };
