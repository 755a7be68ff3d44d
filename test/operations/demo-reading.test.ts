// The simulated models of the demo respond to the real prompts of knowledge, for the documents of the demo.
import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { DocumentModel } from '../../src/knowledge/documents/document.ts';
import { knownNames } from '../../src/operations/demo/acme-company.ts';
import type { ProfileSummary } from '../../src/knowledge/entities/confirm.ts';
import { confirmationMessages, parseConfirmation } from '../../src/knowledge/entities/confirm.ts';
import type { ReadingTask } from '../../src/knowledge/reading/rules-reader.ts';
import { readingPrompt } from '../../src/knowledge/reading/model-reader.ts';
import { readAnswer } from '../../src/knowledge/reading/parse-answer.ts';
import { readDocument } from '../../src/simulators/models/document-reader.ts';

const folder = fileURLToPath(new URL('../../src/operations/demo/documents/', import.meta.url));
const files: string[] = [];
for await (const file of glob('**/*.{eml,markdown}', { cwd: folder })) files.push(file);

/** As documents are read: a mail with its headers as text. */
async function textOf(file: string): Promise<string> {
  const content = await readFile(folder + file, 'utf8');
  if (!file.endsWith('.eml')) return content;
  const { from, subject, text } = await PostalMime.parse(content);
  return `From: ${from?.name} <${from?.address}>\nSubject: ${subject}\n\n${text}`;
}

const taskFor = (text: string): ReadingTask => ({
  chunk: { text, startChar: 0, heading: null },
  document: new DocumentModel({ title: 'A document', type: 'note', sourceTs: null, text }),
  caller: 'admin',
});

const described = (name: string): ProfileSummary => ({
  name,
  type: 'person',
  otherNames: [],
  email: null,
  organization: null,
  role: null,
  notes: [],
  coMentions: [],
});

const decided = (mention: string, ...candidates: readonly string[]) => {
  const messages = confirmationMessages(described(mention), candidates.map(described));
  return parseConfirmation(JSON.stringify(readDocument(messages, knownNames)), candidates);
};

describe('a simulated reader of the demo', () => {
  it('has enough to read', () => {
    expect(files.length).toBeGreaterThanOrEqual(12);
  });

  it.each(files.toSorted())(
    'reads people and events out of %s, and nothing that is not in it',
    async (file) => {
      const task = taskFor(await textOf(file));
      const reading = readAnswer(readDocument(readingPrompt(task), knownNames), task);
      expect(reading?.mentions.map(({ type }) => type)).toContain('person');
      expect(reading?.events.length).toBeGreaterThan(0);
      expect(reading?.dropped ?? []).toEqual([]);
    },
  );

  it('resolves Mara, distinguishes Sam and Sara, and leaves S. Okafor undecided', () => {
    expect(decided('M. Lindqvist', 'Priya Raman', 'Mara Lindqvist')).toMatchObject({
      decision: 'same',
      match: 1,
    });
    expect(decided('Sam Okafor', 'Sara Okafor')).toMatchObject({ decision: 'different' });
    expect(decided('S. Okafor', 'Sam Okafor', 'Sara Okafor')).toMatchObject({ decision: 'uncertain' });
    expect(decided('Mara Lindquist', 'Mara Lindqvist')).toMatchObject({ decision: 'uncertain' });
  });
});
