// One mention of an answer: its name must stand in the text.
import type { ContextClues, EntityMention, ReadingTask } from '../../ports.ts';
import type { QuoteFinder } from '../../text/quotes.ts';
import type { Notes } from './answer-notes.ts';
import type { TextOccurrences } from '../../text/said-in.ts';
import type { Fields } from './lenient-fields.ts';
import { field, isFields, readType, shareField, textField } from './lenient-fields.ts';

export const longestName = 300;

/** Null, with a note, when it cannot be used. */
export function readMention(
  entry: unknown,
  finder: QuoteFinder,
  said: TextOccurrences,
  { text, startChar }: ReadingTask['chunk'],
  index: number,
  notes: Notes,
): EntityMention | null {
  const fields: Fields = typeof entry === 'string' ? { name: entry } : isFields(entry) ? entry : {};
  const surface = textField(fields, longestName, 'name', 'surface_form', 'text', 'mention', 'entity', 'span');
  const canonical = textField(
    fields,
    longestName,
    'canonical_name',
    'canonical',
    'full_name',
    'canonical_suggestion',
  );
  if (surface === null && canonical === null) {
    notes.add('mention-without-name');
    return null;
  }
  const place =
    finder.find(surface ?? canonical ?? '') ?? (canonical === null ? null : finder.find(canonical));
  if (!place) {
    notes.add('mention-not-in-text');
    return null;
  }
  return {
    ref: `m${index + 1}`,
    surfaceForm: text.slice(place.start, place.end),
    canonicalSuggestion: canonical ?? text.slice(place.start, place.end),
    type: readType(field(fields, 'type', 'entity_type', 'kind', 'category', 'label')) ?? 'other',
    contextClues: cluesOf(fields, said),
    startChar: startChar + place.start,
    endChar: startChar + place.end,
    confidence: shareField(fields, 0.85, 'confidence', 'score'),
    method: 'model',
  };
}

/** Decisive when names are compared, so a model's word is not enough: each must stand somewhere in the document. */
function cluesOf(fields: Fields, said: TextOccurrences): ContextClues {
  const nested = field(fields, 'context_clues', 'context', 'attributes');
  const all: Fields = isFields(nested) ? { ...nested, ...fields } : fields;
  const role = textField(all, longestName, 'role', 'title', 'position');
  const organization = textField(
    all,
    longestName,
    'organization',
    'organisation',
    'company',
    'org',
    'employer',
  );
  const email = textField(all, 254, 'email', 'mail', 'e-mail', 'email_address');
  return {
    ...(role !== null && said.has(role) ? { role } : {}),
    ...(organization !== null && said.has(organization) ? { organization } : {}),
    ...(email !== null && /.@./.test(email) && said.has(email) ? { email: email.toLowerCase() } : {}),
  };
}
