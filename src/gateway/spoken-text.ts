// The words of an answer.
import type { CompletionResult } from './ports.ts';

interface Completion {
  readonly choices?: readonly { readonly message?: { readonly content?: unknown } }[];
}

/** Of a whole answer, its first choice. Most say a text; some say it in parts, between thoughts that are none of it. */
export function completionText({ answer }: Pick<CompletionResult, 'answer'>): string {
  if (answer.outcome !== 'answer') throw new TypeError('The answer is a stream.');
  const completion = JSON.parse(Buffer.from(answer.body).toString()) as Completion;
  const content = completion.choices?.[0]?.message?.content;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts = content as readonly ({ readonly text?: unknown } | null)[];
  return parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}
