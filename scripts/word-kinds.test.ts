import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { wordKindsFile } from '../src/knowledge/text/lexicon.ts';
import { wordKindsText } from './word-kinds.ts';

it('the word list is that of compromise: after an upgrade run node scripts/word-kinds.ts --write', () => {
  expect(readFileSync(wordKindsFile, 'utf8') === wordKindsText()).toBe(true);
});
