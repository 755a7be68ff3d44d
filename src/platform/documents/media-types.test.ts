import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { docxOf, paragraph, pdfOf, zipOf } from '../../../test/support/sample-documents.ts';
import { decideType, docxType, readableTypes } from './media-types.ts';

const bytesOf = {
  text: Buffer.from('a,b\n1,2\n'),
  utf16: Buffer.from('\xff\xfea\0b\0', 'latin1'),
  strayZeros: Buffer.from('# Größe\n\n[Ann] met\0 Bo.\n'),
  unmarkedUtf16: Buffer.from('Ann met Bo, and both were glad.', 'utf16le'),
  shortUtf16: Buffer.from('Ann', 'utf16le'),
  latin1WithZero: Buffer.from('Gr\xf6\xdfe des Hauses\0: 12 m', 'latin1'),
  png: Buffer.from('\x89PNG\r\n\x1a\n0', 'latin1'),
  jpeg: Buffer.from('\xff\xd8\xff\xe0', 'latin1'),
  gif: Buffer.from('GIF89a..'),
  webp: Buffer.from('RIFF....WEBPVP8 '),
  pdf: Buffer.from(pdfOf(['Hello'])),
  docx: Buffer.from(docxOf(paragraph('Hello'))),
  zip: Buffer.from(zipOf([{ name: 'a.txt', content: 'b' }])),
  word97: Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1...', 'latin1'),
  noise: Buffer.from([1, 2, 0, 3, 0, 4]),
  program: Buffer.from('MZ\x90 This program cannot be run in DOS mode.', 'latin1'),
  controls: Buffer.from('\x01\x02\x03\x04 no text has so many of these '.repeat(9), 'latin1'),
} as const;

type Kind = keyof typeof bytesOf;

const decide = (name: string, mediaType: string, kind: Kind) =>
  decideType({ name, mediaType, bytes: bytesOf[kind] });

describe('what a file is', () => {
  it.each<[string, string, Kind, string]>([
    ['a.txt', 'text/plain; charset=utf-8', 'text', 'text/plain'],
    ['a.txt', 'text/plain', 'utf16', 'text/plain'],
    ['a.yaml', 'TEXT/YAML', 'text', 'text/plain'],
    ['a.csv', 'application/vnd.ms-excel', 'text', 'text/csv'],
    ['a.svg', 'application/atom+xml', 'text', 'application/xml'],
    ['a', 'application/problem+json', 'text', 'application/json'],
    ['a.jpg', 'image/jpg', 'jpeg', 'image/jpeg'],
    ['a.webp', 'image/webp', 'webp', 'image/webp'],
    ['a', '', 'pdf', 'application/pdf'],
    ['a.bin', 'application/octet-stream', 'docx', docxType],
    ['A.HTM', 'application/octet-stream', 'text', 'text/html'],
    ['a.eml', '', 'text', 'message/rfc822'],
    ['README', '', 'text', 'text/plain'],
    ['odd.constructor', '', 'text', 'text/plain'],
    ['README.bin', '', 'text', 'text/plain'],
    ['a.txt', '', 'strayZeros', 'text/plain'],
    ['a.md', 'application/octet-stream', 'strayZeros', 'text/markdown'],
    ['a.html', '', 'strayZeros', 'text/html'],
    ['a.json', '', 'strayZeros', 'application/json'],
    ['a', 'text/plain', 'strayZeros', 'text/plain'],
  ])('%s declared as "%s", with bytes of %s: %s', (name, mediaType, kind, expected) => {
    expect(decide(name, mediaType, kind)).toMatchObject({ mediaType: expected });
  });

  it.each<[string, string, Kind, RegExp]>([
    ['a.pdf', 'application/pdf', 'text', /declared as application\/pdf, but has plain text/],
    ['a.pdf', 'application/pdf', 'png', /first bytes are those of image\/png/],
    ['a.txt', 'text/plain', 'pdf', /first bytes are those of application\/pdf/],
    ['a.txt', 'text/plain', 'noise', /other content.*UTF-16 with a byte order mark/],
    ['a.txt', 'text/plain', 'unmarkedUtf16', /few zero bytes.*UTF-16 with a byte order mark/],
    ['a.txt', '', 'unmarkedUtf16', /unknown type.*UTF-16 with a byte order mark/],
    ['a.txt', 'text/plain', 'shortUtf16', /UTF-16 with a byte order mark/],
    ['a.txt', 'text/plain', 'latin1WithZero', /UTF-8 with few zero bytes/],
    ['a.tar', '', 'strayZeros', /unknown type.*Text is recognized by its name or type/],
    ['a.pdf', 'application/pdf', 'strayZeros', /declared as application\/pdf, but has other content/],
    ['a.png', 'image/png', 'jpeg', /image\/jpeg/],
    ['a.docx', docxType, 'zip', /application\/zip/],
    ['a.docx', docxType, 'word97', /old or password-protected Office file/],
    ['a.doc', '', 'word97', /old or password-protected.*\.docx or PDF/],
    ['a.pdf', '', 'text', /has plain text/],
    ['a.zip', 'application/zip', 'zip', /application\/zip, which cannot be read.*application\/pdf/],
    ['a', '', 'noise', /an unknown type/],
    ['a', '', 'controls', /an unknown type/],
    ['setup.exe', '', 'program', /it is a program, which cannot be read/],
    ['setup.exe', '', 'text', /it is a program, which cannot be read/],
    ['notes.txt', '', 'program', /it is a program, which cannot be read/],
    ['notes.txt', 'text/plain', 'program', /first bytes are those of a program/],
    ['a', 'constructor', 'text', /constructor, which cannot be read/],
  ])('%s declared as "%s", with bytes of %s: rejected', (name, mediaType, kind, problem) => {
    expect(decide(name, mediaType, kind)).toEqual({ problem: expect.stringMatching(problem) as string });
  });

  it('rejects an image where only text is accepted', () => {
    const png = { name: 'a.png', mediaType: 'image/png', bytes: bytesOf.png };
    expect(decideType(png)).toMatchObject({ format: 'image' });
    const [picture, archive] = [png, { name: 'a.zip', mediaType: '', bytes: bytesOf.zip }].map((file) =>
      decideType(file, false),
    );
    expect(picture).toEqual({
      problem: expect.stringMatching(/it is an image.*Send one of: text/) as string,
    });
    for (const decided of [picture, archive]) expect(JSON.stringify(decided)).not.toContain('image/');
  });

  it('is unknown for an empty file', () => {
    expect(decideType({ name: 'a', mediaType: 'text/plain', bytes: Buffer.alloc(0) })).toEqual({
      problem: expect.stringMatching(/empty/) as string,
    });
  });

  it('is decided for any bytes, name and type', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.oneof(fc.string(), fc.constantFrom(...readableTypes)),
        fc.uint8Array(),
        (name, mediaType, bytes) => {
          const decided = decideType({ name, mediaType, bytes });
          if ('mediaType' in decided) expect(readableTypes).toContain(decided.mediaType);
          else expect(decided.problem).toMatch(/\.$/);
        },
      ),
    );
  });
});
