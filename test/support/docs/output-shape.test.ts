import { describe, expect, it } from 'vitest';
import { compareOutput, withNames } from './output-shape.ts';

const id = '01a1e2b3-6496-79ad-84bf-064503f94106';
const other = '01a1eb0d-dea8-73d9-80dc-db28a04a68c5';
const problemOf = (shown: string, printed: string): string | null =>
  compareOutput(shown.split('\n'), printed.split('\n')).problem;

describe('shown and printed output', () => {
  it.for([
    ['4 added, 0 revised', '11 added, 2 revised'],
    ['1 call, 3 s, 12.8 items/s', '2 calls, 364 ms, 137.3 items/s'],
    ['created 2026-11-16 04:52:49', 'created 2026-12-01 10:00:00'],
    ['seen 2 s ago', 'seen now'],
    ['1.1 MiB of 57 bytes', '900 KiB of 1.2 KiB'],
    [`Execution ${id} is stopped.`, `Execution ${other} is stopped.`],
    ['ID    NAME\n01a1…94106  Ann', `ID  NAME\n${other}    Ann`],
    ['first\n…\nlast', 'first\na\nb\nlast'],
    ['{"id":1,…', '{"id":7,"name":"x"}'],
    ['a\n\nb', 'a\nb\n'],
    ['a\nb', 'Probing …\na\nb\nReading …'],
    ['Probing …\nb', 'Probing …\nb'],
  ] as const)('have the same shape: %s', ([shown, printed]) => {
    expect(problemOf(shown, printed)).toBeNull();
  });

  it.for([
    ['Created limit', 'Updated limit', 'no line like "Created limit"'],
    ['a\nb', 'a', 'no line like "b"'],
    ['a', 'a\nb', 'the page does not show "b"'],
    ['a\nc', 'a\nb\nc', 'no line like "c"'],
    ['first\n…\nlast', 'first\na', 'no line like "last"'],
    ['ID  NAME', 'ID  TITLE', 'no line like "ID  NAME"'],
    ['seen 2 s ago', 'seen never', 'no line like "seen 2 s ago"'],
  ] as const)('differ: %s', ([shown, printed, problem]) => {
    expect(problemOf(shown, printed)).toBe(problem);
  });

  it('let a later command use the id of this run', () => {
    const { names } = compareOutput(
      [`run ${id}`, '01a1…68c5a  Ann', 'org_JJpp26HE2fH9V3JO'],
      [`run ${other}`, `${id}  Ann`, 'org_hoXxMCCPtISLZSpj'],
    );
    expect(withNames(`stop ${id}`, names)).toBe(`stop ${other}`);
    expect(withNames('get 01a1eb0d-dea8-73d9-80dc-db28a0468c5a', names)).toBe(`get ${id}`);
    expect(withNames('ZCARD slots:org_JJpp26HE2fH9V3JO', names)).toBe('ZCARD slots:org_hoXxMCCPtISLZSpj');
  });
});
