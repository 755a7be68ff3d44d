import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { listOptions } from './config.ts';
import { optionReference } from './option-reference.ts';
import { optionSections } from './option-sections.ts';

describe('optionReference', () => {
  it('names every option with its variables and flag', () => {
    const page = optionReference();
    for (const { path, spec } of listOptions(optionSections)) {
      expect(page).toContain(`\`${path}\``);
      for (const name of spec.env) expect(page).toContain(`\`${name}\``);
      const no = spec.default === true ? 'no-' : '';
      if (spec.flag !== undefined) expect(page).toContain(`\`--${no}${spec.flag}\``);
    }
  });

  it('is what docs/configuration.md says; else run "npm run headworks -- config --docs > docs/configuration.md"', () => {
    const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
    expect(page).toBe(optionReference());
  });
});
