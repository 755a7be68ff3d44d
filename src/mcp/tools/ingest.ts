// ingest: a document into knowledge.
import { z } from 'zod';
import { artifactType } from '../choices.ts';
import { instant, knowledgePath, maybe, resourceUri, text } from '../fields.ts';
import { defineTool } from '../tool.ts';

const accepted = z.object({
  outcome: z
    .enum(['added', 'revised', 'unchanged'])
    .describe('`unchanged`: the latest revision has this very content; nothing was written.'),
  id: text.describe('Of the document: artifact_id for other tools.'),
  revision_id: text,
  job_id: maybe.describe('The job that reads it; null when there is nothing to do.'),
  chunks: z.number().describe('Passages it was cut into.'),
});

export const ingest = defineTool({
  name: 'ingest',
  title: 'Take a document in',
  description:
    'Takes a document into a space, as text or as a file (text, Markdown, HTML, PDF, DOCX, EML, JSON). It can be searched ' +
    'by its words as soon as this answers; events, entities and vectors are read from it in the background: ask job_status. ' +
    'The same source_id again with other content makes a new revision; with the same content nothing happens, so asking ' +
    'twice does no harm. Only take in what the user wants kept.',
  access: 'tenant',
  isOfSpace: true,
  effect: 'adds',
  whenNoSpace:
    'Without space the document goes into "default", which is made if it is not there; other spaces are made by people: ' +
    'ask the user.',
  input: {
    text: z.string().min(1).optional().describe('The document as text. Give this or `file`.'),
    file: z
      .strictObject({
        name: z.string().min(1).max(1_000).describe('With its ending: minutes.docx'),
        content: z.base64().describe('The file’s bytes in base64.'),
        media_type: z.string().max(200).optional().describe('Leave it out: the name and the content tell.'),
      })
      .optional()
      .describe('The document as a file. Give this or `text`.'),
    title: z.string().max(1_000).optional().describe('Default: what the document says, or its name.'),
    type: artifactType.optional().describe('Default: by the kind of file.'),
    source_id: z
      .string()
      .min(1)
      .max(2_000)
      .optional()
      .describe(
        'What the source calls it (a path, an address, a message id), so that it can be revised later.',
      ),
    source_system: z.string().min(1).max(200).optional().describe('Where it comes from: crm, drive, …'),
    source_ts: instant.optional().describe('When it was written, such as 2026-03-01T12:00:00Z.'),
  },
  output: {
    ...accepted.shape,
    uri: text.describe('Of the document, as a resource.'),
    next: text.describe('What happens now.'),
  },
  async run(document, { api, place, signal }) {
    const body = { ...document, ...place };
    const answer = accepted.parse(await api.call('POST', `${knowledgePath}/artifacts`, { body, signal }));
    return {
      ...answer,
      uri: resourceUri('artifacts', answer.id, place),
      next:
        answer.outcome === 'unchanged'
          ? 'Nothing: it was here already, with this content.'
          : 'It can be searched by its words now. Events, entities and vectors follow: call job_status with this ' +
            'id as artifact_id (and the same space) until is_finished.',
    };
  },
});
