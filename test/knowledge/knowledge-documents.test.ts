// Documents of every kind as knowledge reads them: text, title, type, time and the people in the headers of a mail.
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import {
  openFileParser,
  parseIngestRequest,
  TextThreads,
} from '../../src/knowledge/documents/text-threads.ts';
import { contentHash } from '../../src/knowledge/documents/parse-text.ts';
import { docxOf, paragraph, pdfOf, zipOf } from '../support/sample-documents.ts';

const { signal } = new AbortController();
const documents = openFileParser(systemClock);
const texts = new TextThreads(systemClock);
const deps = { documents, texts, maxDocumentBytes: 1_000_000 };
afterAll(() => Promise.all([documents.close(), texts.close()]));

const read = (name: string, content: string | Uint8Array, mediaType = '') =>
  parseIngestRequest(deps, { content: { name, mediaType, bytes: Buffer.from(content) } }, { signal });

const mail = [
  'From: "Chen, Alice" <Alice.Chen@acme.example>',
  'To: Bob Ray <bob@acme.example>, carol@other.example',
  'Cc: =?utf-8?q?J=C3=B6rg?= <joerg@acme.example>',
  'Date: Mon, 02 Mar 2026 10:00:00 +0100',
  'Subject: Budget for Q3',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'We agreed on it.',
].join('\r\n');

describe('a document becomes an artifact', () => {
  it('from plain text and Markdown, with its first heading as title', async () => {
    expect(await read('notes/plan.md', '# The plan\n\nShip it.')).toMatchObject({
      type: 'note',
      title: 'The plan',
      sourceSystem: 'upload',
      sourceId: 'notes/plan.md',
      text: '# The plan\n\nShip it.',
      sourceTs: null,
    });
    expect(await read('minutes.txt', 'Ship it.')).toMatchObject({ type: 'note', title: 'minutes' });
  });

  it('from text that begins like a mail or minutes, with their subject and date', async () => {
    const mail = 'From: Ann\r\nTo: Bob\r\nSubject: Launch\r\nDate: March 9, 2026\r\n\r\n# Hello';
    const first = await read('inbox/1.txt', mail);
    expect(first).toMatchObject({
      type: 'email',
      title: 'Launch',
      sourceTs: new Date('2026-03-09'),
      mentions: [],
    });
    expect(contentHash(await read('inbox/1.txt', mail))).toBe(contentHash(first));
    expect(await read('minutes.txt', 'Date: 2026-03-10\nAttendees: Ann, Bob\n\nWe met.')).toMatchObject({
      type: 'note',
      title: 'minutes',
      sourceTs: new Date('2026-03-10'),
    });
    expect(await read('kickoff.md', '# Kickoff\n\nDate: 2026-03-02\n\nWe met.')).toMatchObject({
      type: 'note',
      title: 'Kickoff',
      sourceTs: new Date('2026-03-02'),
    });
  });

  it('from HTML, PDF and DOCX', async () => {
    expect(await read('a.html', '<h1>Plan</h1><p>Ship <b>it</b>.</p>')).toMatchObject({
      type: 'doc',
      title: 'a',
      text: expect.stringContaining('Ship it.') as string,
    });
    expect(await read('a.pdf', pdfOf(['Ship it.']))).toMatchObject({
      type: 'doc',
      text: expect.stringContaining('Ship it.') as string,
    });
    expect(await read('a.docx', docxOf(paragraph('Ship it.')))).toMatchObject({
      type: 'doc',
      text: 'Ship it.',
    });
  });

  it('from a mail, with its subject, time, author and recipients', async () => {
    const artifact = await read('m.eml', mail);
    expect(artifact).toMatchObject({
      type: 'email',
      title: 'Budget for Q3',
      sourceTs: new Date('2026-03-02T09:00:00Z'),
    });
    expect(artifact.mentions).toEqual([
      {
        surfaceForm: 'Chen, Alice',
        type: 'person',
        relation: 'author',
        contextClues: { email: 'alice.chen@acme.example' },
      },
      {
        surfaceForm: 'Bob Ray',
        type: 'person',
        relation: 'recipient',
        contextClues: { email: 'bob@acme.example' },
      },
      {
        surfaceForm: 'carol@other.example',
        type: 'person',
        relation: 'recipient',
        contextClues: { email: 'carol@other.example' },
      },
      {
        surfaceForm: 'Jörg',
        type: 'person',
        relation: 'recipient',
        contextClues: { email: 'joerg@acme.example' },
      },
    ]);
  });

  it('from JSON and JSON lines, as readable lines; from invalid JSON, unchanged, with a warning', async () => {
    const json = {
      title: 'Sales',
      owner: { name: 'Ann' },
      tiles: [{ q: 1 }, { q: 2 }],
      tags: ['a', 'b'],
      none: null,
    };
    const artifact = await read('d.json', JSON.stringify(json));
    expect(artifact.text.split('\n')).toEqual([
      'title: Sales',
      'owner.name: Ann',
      'tiles[0].q: 1',
      'tiles[1].q: 2',
      'tags: a',
      'tags: b',
    ]);
    expect(artifact.metadata).toEqual({ data: 'lines' });
    expect((await read('d.jsonl', '{"a":1}\n{"a":2}\n')).text).toBe('a: 1\n\na: 2');
    expect(await read('d.json', '{"a": oops')).toMatchObject({
      text: '{"a": oops',
      metadata: { data: 'raw' },
      warnings: [expect.stringMatching(/^It is not valid JSON/) as string],
    });
  });

  it('from JSON that is sent as text, too', async () => {
    const text = '{"First Name": "Alice", "note": "Bob agreed to it."}';
    const artifact = await parseIngestRequest(deps, { content: { text } }, { signal });
    expect(artifact).toMatchObject({ type: 'doc', metadata: { data: 'lines' } });
    const note = { content: { text: '[1] Ann decided.' }, metadata: { data: 'lines', mentions: [] } };
    expect(await parseIngestRequest(deps, note, { signal })).toMatchObject({ type: 'note', metadata: {} });
  });

  it('in another encoding, with a warning when it is not declared', async () => {
    const latin = Buffer.from('Grüße aus Köln', 'latin1');
    const artifact = await read('gruss.txt', latin);
    expect(artifact.text).toBe('Grüße aus Köln');
    expect(artifact.warnings).toHaveLength(1);
    expect((await read('gruss.txt', latin, 'text/plain; charset=iso-8859-1')).warnings).toEqual([]);
    expect((await read('u.txt', Buffer.from('\ufeffGrüße', 'utf16le'))).text).toBe('Grüße');
  });

  it('with the metadata of its owner', async () => {
    const request = {
      content: { text: 'Hello.' },
      type: 'chat',
      title: 'T',
      sourceSystem: 'slack',
      sourceId: 'c1',
      sourceTs: new Date(5),
      metadata: { channel: 'x', mentions: 'not ours' },
    } as const;
    expect(await parseIngestRequest(deps, request, { signal })).toMatchObject({
      type: 'chat',
      title: 'T',
      sourceSystem: 'slack',
      sourceId: 'c1',
      sourceTs: new Date(5),
      metadata: { channel: 'x' },
    });
    const nameless = await parseIngestRequest(deps, { content: { text: 'First line\nsecond' } }, { signal });
    expect(nameless).toMatchObject({
      title: 'First line',
      sourceId: expect.stringMatching(/^text:[0-9a-f]{32}$/) as string,
    });
    expect(
      (await parseIngestRequest(deps, { content: { text: 'First line\nsecond' } }, { signal })).sourceId,
    ).toBe(nameless.sourceId);
  });
});

const bomb = (): Uint8Array =>
  docxOf('', { name: 'word/document.xml', content: Buffer.alloc(80_000_000, ' ') });

const nested = (tag: string, times: number): string =>
  `${`<${tag}>`.repeat(times)}${paragraph('x')}${`</${tag}>`.repeat(times)}`;

const nestedMail = (times: number): string =>
  Array.from(
    { length: times },
    (_, part) =>
      `${part === 0 ? '' : `--b${part - 1}\r\n`}Content-Type: multipart/mixed; boundary="b${part}"\r\n\r\n`,
  ).join('');

it.each([
  ['an empty file', () => read('a.txt', ''), /empty/],
  ['a binary file', () => read('a.txt', Buffer.from([0, 1, 2, 3, 255])), /cannot be read/],
  ['a picture', () => read('a.png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')), /image/],
  ['an archive', () => read('a.zip', zipOf([{ name: 'a', content: 'x' }])), /cannot be read/],
  ['a program', () => read('a.txt', 'MZ\x90 This program cannot be run in DOS mode.'), /a program/],
  ['JSON without a bottom', () => read('a.json', '['.repeat(200_000)), /nested more than 500 levels/],
  ['HTML without a bottom', () => read('a.html', '<ul><li>'.repeat(20_000)), /cannot be read/],
  ['a DOCX without a bottom', () => read('a.docx', docxOf(nested('w:ins', 20_000))), /cannot be read/],
  ['a mail without a bottom', () => read('a.eml', nestedMail(2_000)), /cannot be read/],
  ['a damaged PDF', () => read('a.pdf', '%PDF-1.4 nothing'), /cannot be read/],
  ['a document that unpacks to very much', () => read('a.docx', bomb()), /unpacks to more than/],
  ['a file that is not what it is declared to be', () => read('a', 'text', 'application/pdf'), /declared/],
])('rejects %s with a message', async (_, attempt, sentence) => {
  const error: unknown = await attempt().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'KNOWLEDGE_DOCUMENT_UNREADABLE', isRetryable: false });
  expect(String(error)).toMatch(sentence);
});

it.each([
  ['blanks', ' \n\t\u3000'],
  ['characters without a shape', '\u200b\u2060 \ufeff\n\u00ad\u2800'],
])('rejects %s, which has no searchable text', async (_, text) => {
  const refused = parseIngestRequest(deps, { content: { text } }, { signal });
  await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(refused).rejects.toThrow(/has no visible text/);
});

it('rejects metadata that is nested too deeply', async () => {
  const metadata = JSON.parse(`${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`) as Record<string, unknown>;
  await expect(parseIngestRequest(deps, { content: { text: 'x' }, metadata }, { signal })).rejects.toThrow(
    /levels deep/,
  );
});

it('accepts one line of millions of characters', async () => {
  const { text } = await parseIngestRequest(
    { ...deps, maxDocumentBytes: 20_000_000 },
    { content: { name: 'a.csv', mediaType: '', bytes: Buffer.from('abc,'.repeat(1_000_000)) } },
    { signal },
  );
  expect(text).toHaveLength(4_000_000);
});

it('rejects a file that is too large before it is read', async () => {
  const error = read('a.txt', Buffer.alloc(1_000_001, 'x'));
  await expect(error).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await expect(error).rejects.toThrow(/1,000,001 bytes; at most 1,000,000/);
});
