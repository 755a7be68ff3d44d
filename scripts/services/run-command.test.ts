import { describe, expect, it } from 'vitest';
import { lastLines, runCommand } from './run-command.ts';

describe('runCommand', () => {
  it('returns the output of the program', async () => {
    expect(await runCommand('sh', ['-c', 'echo said'])).toBe('said\n');
  });

  it('rejects with the exit code and the last output of the program', async () => {
    await expect(runCommand('sh', ['-c', 'echo out; echo cause >&2; exit 3'])).rejects.toThrow(
      /^sh failed \(3\): out\ncause$/,
    );
  });

  it('rejects when there is no such program', async () => {
    await expect(runCommand('no-such-program', [])).rejects.toThrow('ENOENT');
  });
});

it('lastLines leaves out empty lines', () => {
  expect(lastLines('a\n\nb\n  \nc\n', 2)).toBe('b\nc');
});
