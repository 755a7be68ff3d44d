// What a request needs of a model, and whether a model has it.
import type { CompletionRequest, Capabilities } from '../ports.ts';

export type Need = 'chat' | 'embeddings' | 'streaming' | 'tools' | 'json' | 'vision';

/** As people say it. */
export const needWords: Readonly<Record<Need, string>> = {
  chat: 'chat',
  embeddings: 'embeddings',
  streaming: 'streaming',
  tools: 'tools',
  json: 'JSON answers',
  vision: 'images',
};

const onlyChat: readonly Need[] = ['chat'];

export function needsOf({ operation, isStream, needs }: CompletionRequest): readonly Need[] {
  if (operation === 'embeddings') return ['embeddings'];
  if (!isStream && !needs.tools && !needs.json && !needs.vision) return onlyChat;
  const list: Need[] = ['chat'];
  if (isStream) list.push('streaming');
  if (needs.tools) list.push('tools');
  if (needs.json) list.push('json');
  if (needs.vision) list.push('vision');
  return list;
}

export function can(capabilities: Capabilities, need: Need): boolean {
  return need === 'chat' ? !capabilities.embeddings : capabilities[need];
}

export function canAll(capabilities: Capabilities, needs: readonly Need[]): boolean {
  for (const need of needs) if (!can(capabilities, need)) return false;
  return true;
}
