import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { layOutTable, printable } from './output.ts';

describe('layOutTable', () => {
  it('aligns columns and leaves no white space at the end of lines', () => {
    expect(
      layOutTable(
        ['A', 'LONGER'],
        [
          ['first', 'x'],
          ['2', ''],
        ],
        { maxWidth: null },
      ),
    ).toEqual(['A      LONGER', 'first  x', '2']);
  });

  it('cuts the widest column first when lines must fit', () => {
    const [, row] = layOutTable(['ID', 'WHAT'], [['12345678', 'a very long sentence about it']], {
      maxWidth: 24,
    });
    expect(row).toBe('12345678  a very long s…');
  });

  it('never exceeds the width unless every column has its minimum width', () => {
    const cell = fc.string({ maxLength: 60 });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell)),
        fc.integer({ min: 28, max: 120 }),
        (rows, maxWidth) => {
          for (const line of layOutTable(['A', 'B', 'C'], rows, { maxWidth }))
            expect(line.length).toBeLessThanOrEqual(maxWidth);
        },
      ),
    );
  });

  it('does not count colors as width', () => {
    const styled = layOutTable(['A', 'B'], [['x', 'y']], { maxWidth: 10, styleCell: (text) => `<${text}>` });
    expect(styled).toEqual(['A  B', '<x>  <y>']);
  });
});

describe('printable', () => {
  it('removes control characters from terminal output', () => {
    expect(printable('a\u001b[31mred\u0007\r\nb\u009b2J')).toBe('a [31mred b 2J');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const character of printable(text))
          expect(character >= ' ' && character !== '\u007f').toBe(true);
      }),
    );
  });

  it('removes bidirectional and invisible characters, except those that scripts need', () => {
    const turned = 'pay \u202e1000\u202c to\u2066 Ann\u2069\u200b\u200e\u2060\ufeff';
    expect(printable(turned)).toBe('pay 1000 to Ann');
    expect(printable('a\u200d \u200cb')).toBe('a b');
    expect(printable('\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻')).toBe(
      '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻',
    );
    expect(layOutTable(['A'], [['x\u202ey']], { maxWidth: null })).toEqual(['A', 'xy']);
  });
});
