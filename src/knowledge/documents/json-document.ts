// A JSON file, or JSON lines, as a document: lines to search in, people whom its fields name.
import type { StructuredMention } from '../ports.ts';
import type { DataForm } from './data-prose.ts';
import { peopleOfJson } from './json-people.ts';
import { jsonText, parseJsonText } from './json-text.ts';

export interface JsonDocument {
  readonly text: string;
  readonly data: DataForm;
  readonly mentions: readonly StructuredMention[];
  readonly warnings: readonly string[];
}

/** What is no JSON stays as it is, to be searched only. Fails with KNOWLEDGE_DOCUMENT_UNREADABLE. */
export function readJsonDocument(text: string): JsonDocument {
  const parsed = parseJsonText(text);
  if (parsed === null)
    return {
      text,
      data: 'raw',
      mentions: [],
      warnings: ['It is no valid JSON: it can be searched as it is, and nothing is read out of it.'],
    };
  const { value, brokenLines } = parsed;
  return {
    text: jsonText(value),
    data: 'lines',
    mentions: peopleOfJson(value),
    warnings:
      brokenLines === 0 ? [] : [`Lines of it that are no valid JSON were kept as they are: ${brokenLines}.`],
  };
}
