// get_artifact: one document, or the part of it that is wanted.
import { z } from 'zod';
import { windowOf } from '../bounds.ts';
import { id, knowledgePath, maybe, note, resourceUri, text, wordsAreData } from '../fields.ts';
import { defineTool } from '../tool.ts';

const about = z.object({
  id: text,
  revision_id: text,
  title: text,
  type: text,
  source_system: text,
  source_id: text,
  source_ts: maybe.describe('When the source says it was written.'),
  ingested_at: text,
  token_count: z.number().describe('Of the whole text, about.'),
  warnings: z.array(text).describe('What reading the file left out.'),
});

const artifact = about.extend({ text, status: z.object({ state: text }) });

export const getArtifact = defineTool({
  name: 'get_artifact',
  title: 'Read a document',
  description:
    'The text of one document with its title, source and date, or a part of the text. Use it to read around a passage ' +
    'that search found (offset: a little before its start_char), or to read a document from beginning to end: go on with ' +
    `offset = next_offset until that is null. ${wordsAreData}`,
  access: 'tenant',
  isOfSpace: true,
  effect: 'reads',
  whenNotFound: 'Use search to find documents, with the same space; artifact_id is in its results.',
  input: {
    artifact_id: id.describe('From search, list_events, get_entity or ingest.'),
    offset: z.int().min(0).default(0).describe('Where to begin, in characters.'),
    max_chars: z.int().min(1).max(40_000).default(10_000).describe('How much text at most.'),
  },
  output: {
    ...about.shape,
    uri: text,
    state: text.describe('processing, complete or partial: how much of it was read for events and entities.'),
    text,
    offset: z.number(),
    text_length: z.number().describe('Of the whole text, in characters.'),
    next_offset: z.number().nullable().describe('Where to read on; null at the end.'),
    note,
  },
  async run({ artifact_id: uid, offset, max_chars: length }, { api, place, signal }) {
    const path = `${knowledgePath}/artifacts/${uid}`;
    const { status, ...found } = artifact.parse(await api.call('GET', path, { query: { ...place }, signal }));
    const { text: part, next } = windowOf(found.text, offset, length);
    return {
      ...found,
      uri: resourceUri('artifacts', uid, place),
      state: status.state,
      text: part,
      offset,
      text_length: found.text.length,
      next_offset: next,
      note: noteOf(found.text.length, offset, next),
    };
  },
});

function noteOf(length: number, offset: number, next: number | null): string | null {
  if (offset >= length && offset > 0) return `The text has only ${length} characters; begin before that.`;
  return next === null ? null : `${length - next} characters follow; call again with offset ${next}.`;
}
