import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { Redactor } from '../core/redaction.ts';

/** Every quoted text with words in it, without comments. */
function textsOf(source: string): readonly string[] {
  const code = source.replace(/\/\*[^]*?\*\/|^\s*\/\/.*$|\s\/\/ .*$/gm, '');
  return [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)]
    .map(([, plain, template]) => plain ?? template ?? '')
    .filter((text) => / \w/.test(text));
}

describe('messages of the platform', () => {
  it('pass the redactor unchanged, so that every remedy stays complete', () => {
    const folder = fileURLToPath(new URL('.', import.meta.url));
    const files = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.(test|contract)\.ts$/.test(file));
    const texts = files.flatMap((file) => textsOf(readFileSync(`${folder}/${file}`, 'utf8')));
    expect(texts.some((text) => text.startsWith('it needs a password.'))).toBe(true);
    const redactor = new Redactor();
    expect(texts.filter((text) => redactor.text(text) !== text)).toEqual([]);
  });
});
