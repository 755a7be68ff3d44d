import { describe, expect, it } from 'vitest';
import { blockProblems, readDocBlocks } from './doc-commands.ts';

const fenced = (language: string, ...lines: readonly string[]): string =>
  ['Text.', '', `\`\`\`${language}`, ...lines, '```', ''].join('\n');

describe('commands of a page', () => {
  it('reads one command per line of an sh block, without comments, with continued lines', () => {
    const text = fenced('sh', '# first', 'headworks serve   # the server', '', 'curl \\', '  localhost');
    expect(readDocBlocks(text)).toEqual([
      {
        line: 3,
        notExecuted: null,
        commands: [
          { line: 5, text: 'headworks serve   # the server', output: null },
          { line: 7, text: 'curl \\\n  localhost', output: null },
        ],
      },
    ]);
  });

  it('reads the output after each command of a console block', () => {
    const text = fenced('console', '$ headworks limits \\', '  list', 'one', '', 'two', '$ true');
    expect(readDocBlocks(text)[0]?.commands).toEqual([
      { line: 4, text: 'headworks limits \\\n  list', output: ['one', '', 'two'] },
      { line: 9, text: 'true', output: [] },
    ]);
  });

  it('reads why a block is not executed', () => {
    const text = `<!-- not executed: needs a cloud -->\n\n${fenced('sh', 'cloud up').slice('Text.\n\n'.length)}`;
    expect(readDocBlocks(text)[0]?.notExecuted).toBe('needs a cloud');
  });

  it('ignores blocks in other languages', () => {
    expect(readDocBlocks(fenced('ts', 'const a = 1;') + fenced('', 'a diagram'))).toEqual([]);
  });

  it.for([
    [fenced('', '$ headworks serve'), 'line 3: a block with commands after "$ " is marked as ```console'],
    [fenced('console', 'output', '$ true'), 'line 3: a ```console block starts with a command after "$ "'],
    [fenced('', 'headworks serve'), 'line 3: a block with commands is marked as ```sh'],
  ] as const)('reports a block that would not be executed: %s', ([text, problem]) => {
    expect(blockProblems(text)).toEqual([problem]);
  });
});
