// Documents of all kinds, good, damaged and malicious, through the real parsers in their threads.
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/core/index.ts';
import { Documents } from '../../src/platform/documents/documents.ts';
import { docxOf, paragraph, pdfOf, pdfOfStreams, table } from '../support/sample-documents.ts';

const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
const documents = new Documents({ clock: systemClock, maxCharacters: 200_000 });
afterAll(() => documents.close());

const read = (name: string, mediaType: string, bytes: Uint8Array | string, reader = documents) =>
  reader.read({ name, mediaType, bytes: Buffer.from(bytes) }, new AbortController().signal);

const unreadable = (message: RegExp) =>
  expect.objectContaining({ name: 'UnreadableDocument', message: expect.stringMatching(message) as string });

describe('a PDF', () => {
  it('is read page by page, with a warning for pages without text', async () => {
    expect(await read('a.pdf', 'application/pdf', pdfOf(['Total (net)\n42 EUR', '', 'Page three']))).toEqual({
      kind: 'text',
      text: 'Total (net)\n42 EUR\n\nPage three',
      warnings: ['Page 2 has no text (scanned?) and was left out.'],
    });
  });

  it('that is scanned is rejected with the reason', async () => {
    await expect(read('scan.pdf', 'application/pdf', pdfOf(['', '']))).rejects.toEqual(
      unreadable(/"scan\.pdf".*no text.*scanned.*images/),
    );
  });

  it('that is damaged is rejected with the reason', async () => {
    const whole = pdfOf(['Hello']);
    await expect(read('cut.pdf', 'application/pdf', whole.subarray(0, 300))).rejects.toEqual(
      unreadable(/damaged/),
    );
  });

  it('that unpacks to gigabytes ends its thread, not the server', async () => {
    const small = new Documents({ clock: systemClock, memoryMb: 100 });
    onTestFinished(() => small.close());
    const bomb = pdfOfStreams([Buffer.alloc(200_000_000, 'BT (x) Tj ET ')]);
    expect(bomb.byteLength).toBeLessThan(2_000_000);
    await expect(read('bomb.pdf', 'application/pdf', bomb, small)).rejects.toEqual(unreadable(/of memory/));
    expect(await read('a.pdf', 'application/pdf', pdfOf(['Hello']))).toMatchObject({ text: 'Hello' });
  });
});

describe('a Word document', () => {
  it('is read with its tables in rows', async () => {
    const body =
      paragraph('Invoice &amp; more') +
      table([
        ['Item', 'Price'],
        ['Tea', '3'],
      ]);
    const content = await read('a.docx', docx, docxOf(body));
    expect(content).toMatchObject({ kind: 'text', warnings: [] });
    expect('text' in content && content.text).toMatch(/Invoice & more\s+Item +Price\nTea +3/);
  });

  it('that is a zip bomb is rejected, also with a false size in its header', async () => {
    const content = Buffer.alloc(80_000_000, 'a');
    await expect(read('bomb.docx', docx, docxOf('', { content }))).rejects.toEqual(
      unreadable(/unpacks to more/),
    );
    await expect(read('liar.docx', docx, docxOf('', { content, declaredLength: 100 }))).rejects.toEqual(
      unreadable(/unpacks to more/),
    );
  });

  it('that is nested too deeply, or has too much in it, ends its thread, not the server', async () => {
    const deep = docxOf('<w:p>'.repeat(50_000) + '</w:p>'.repeat(50_000));
    await expect(read('deep.docx', docx, deep)).rejects.toEqual(unreadable(/damaged|memory|longer/));
    const small = new Documents({ clock: systemClock, memoryMb: 100 });
    onTestFinished(() => small.close());
    const wide = docxOf(paragraph('x').repeat(400_000));
    await expect(read('wide.docx', docx, wide, small)).rejects.toEqual(unreadable(/100 MB of memory/));
    expect(await read('a.docx', docx, docxOf(paragraph('Hello')))).toMatchObject({ text: 'Hello' });
  });

  it('that is empty is rejected with the reason', async () => {
    await expect(read('empty.docx', docx, docxOf(''))).rejects.toEqual(unreadable(/no text/));
  });
});

describe('a page and a mail', () => {
  it('lose their markup and nothing else', async () => {
    const html =
      '<h1>Grüße</h1><p>See <a href="https://x.example">there</a></p><script>no()</script>' +
      '<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>';
    expect(await read('a.html', 'text/html', html)).toMatchObject({
      text: 'Grüße\n\nSee there\n\nA   B\n1   2',
    });
    const latin = Buffer.from('<meta charset="iso-8859-2"><p>\xb1</p>', 'latin1');
    expect(await read('b.html', 'text/html', latin)).toMatchObject({ text: 'ą', warnings: [] });
  });

  it('names the sender, and warns that attachments were not read', async () => {
    const mail = [
      'From: Ada <ada@example.com>',
      'To: bob@example.com, "C, D" <cd@example.com>',
      'Subject: =?utf-8?q?Caf=C3=A9?=',
      'Content-Type: multipart/mixed; boundary=x',
      '',
      '--x',
      'Content-Type: text/html; charset=utf-8',
      '',
      '<p>Hello <b>Bob</b></p>',
      '--x',
      'Content-Type: application/pdf; name=bill.pdf',
      'Content-Disposition: attachment; filename=bill.pdf',
      '',
      'x',
      '--x--',
    ].join('\r\n');
    expect(await read('a.eml', 'message/rfc822', mail)).toEqual({
      kind: 'text',
      text: 'From: Ada <ada@example.com>\nTo: bob@example.com, C, D <cd@example.com>\nSubject: Café\n\nHello Bob',
      warnings: ['Its attachments were not read (bill.pdf); send them as separate files.'],
    });
  });

  it.each([
    ["filename*=utf-8''a%00b.txt", 'ab.txt'],
    [`filename*=utf-8''${'x'.repeat(299)}%F0%9F%98%80.txt`, `${'x'.repeat(299)}\uFFFD`],
  ])('stores the names of attachments in a storable form: %s', async (name, shown) => {
    const mail = [
      'From: ada@example.com',
      'Content-Type: multipart/mixed; boundary=x',
      '',
      '--x',
      '',
      'Hello',
      '--x',
      'Content-Type: text/plain',
      `Content-Disposition: attachment; ${name}`,
      '',
      'x',
      '--x--',
    ].join('\r\n');
    expect(await read('a.eml', 'message/rfc822', mail)).toMatchObject({
      warnings: [`Its attachments were not read (${shown}); send them as separate files.`],
    });
  });

  it('that is nested without end is stopped', async () => {
    const quick = new Documents({ clock: systemClock, timeoutMs: 300 });
    onTestFinished(() => quick.close());
    await expect(read('deep.html', 'text/html', '<div>'.repeat(300_000), quick)).rejects.toEqual(
      unreadable(/longer than 0\.3 s|damaged/),
    );
  });
});

describe('a table', () => {
  it('with cells that span billions of others is read at once (B3)', async () => {
    const cells = '<td colspan=999999999>Item</td><td rowspan="1e9" colspan="1e308">Price</td>';
    const content = await read('a.html', 'text/html', `<table><tr>${cells}</tr><tr><td>Tea</tr></table>`);
    expect('text' in content && content.text).toMatch(/^Item +Price\nTea$/);
  });

  it('keeps spans of an ordinary size', async () => {
    const rows = '<tr><th colspan=2>Both</th></tr><tr><td>First column<td>Second</tr><tr><td>1<td>2</tr>';
    const content = await read('a.html', 'text/html', `<table>${rows}</table>`);
    expect('text' in content && content.text).toBe('Both\nFirst column   Second\n1              2');
  });
});

describe('text and pictures', () => {
  it('are accepted unchanged', async () => {
    expect(await read('a.csv', 'text/csv', 'a,b\n1,2\n')).toEqual({
      kind: 'text',
      text: 'a,b\n1,2',
      warnings: [],
    });
    const png = Buffer.from('\x89PNG\r\n\x1a\n0000', 'latin1');
    expect(await read('a.png', '', png)).toEqual({
      kind: 'image',
      dataUrl: `data:image/png;base64,${png.toString('base64')}`,
    });
  });

  it.each(['a.txt', 'a.md', 'a.html', 'a.json', 'a.eml'])('lose stray zero bytes, as %s', async (name) => {
    const text = 'Subject: Minutes\n\nAnn met\0 Bo.\0';
    const content = await read(name, '', text);
    expect('text' in content && content.text).toMatch(/Subject: Minutes\s+Ann met Bo\.$/);
  });

  it('without a word, or with too many, are rejected with the reason', async () => {
    await expect(read('a.txt', 'text/plain', ' \n\t')).rejects.toEqual(unreadable(/no text/));
    await expect(read('a.txt', 'text/plain', 'x'.repeat(200_001))).rejects.toEqual(
      unreadable(/more than 200,000 characters/),
    );
  });

  it('stop with their caller', async () => {
    const gone = new Error('gone');
    const file = { name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from('x') };
    await expect(documents.read(file, AbortSignal.abort(gone))).rejects.toBe(gone);
  });
});
