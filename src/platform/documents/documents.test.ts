import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText } from './documents.ts';

const latin = (text: string) => Buffer.from(text, 'latin1');

describe('decodeText', () => {
  it('returns what was written as UTF-8 or UTF-16', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!text.startsWith('\uFEFF'));
        const utf16 = Buffer.concat([latin('\xff\xfe'), Buffer.from(text, 'utf16le')]);
        expect(decodeText(Buffer.from(text), {})).toEqual({ text, warnings: [] });
        expect(decodeText(Buffer.from(`\uFEFF${text}`), {})).toEqual({ text, warnings: [] });
        expect(decodeText(utf16, {})).toEqual({ text, warnings: [] });
        expect(decodeText(Buffer.from(utf16).swap16(), {})).toEqual({ text, warnings: [] });
      }),
    );
  });

  it('decodes text that is not UTF-8 with its declared encoding', () => {
    expect(decodeText(latin('\xb1'), { charset: 'iso-8859-2' })).toEqual({ text: 'ą', warnings: [] });
    const xml = latin('<?xml version="1.0" encoding="ISO-8859-2"?><a>\xb1</a>');
    expect(decodeText(xml, { looksInside: true }).text).toContain('ą');
  });

  it.each([{}, { charset: 'no-such-charset' }, { charset: 'utf-8' }])(
    'decodes other text as Latin-1 with a warning (%j)',
    (options) => {
      const { text, warnings } = decodeText(latin('caf\xe9 \x80'), options);
      expect(text).toBe('café €');
      expect(warnings).toEqual([expect.stringMatching(/not UTF-8.*Latin-1/)]);
    },
  );
});
