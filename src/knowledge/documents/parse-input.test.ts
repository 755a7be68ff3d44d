import { describe, expect, it } from 'vitest';
import type { StructuredMention } from '../reading/types.ts';
import { cleanMentions } from './parse-input.ts';

const ann = (relation: string, contextClues: StructuredMention['contextClues']): StructuredMention => ({
  surfaceForm: 'Ann Lee',
  type: 'person',
  relation,
  contextClues,
});

describe('structured mentions', () => {
  it('name somebody once for each relation, and not again as somebody, with all that is known', () => {
    const record = ann('person', { email: 'ann@x.org', role: 'Analyst' });
    const given = [record, ann('user', { email: 'Ann@x.org' }), ann('owner', { email: 'ann@x.org' }), record];
    expect(cleanMentions(given).mentions).toEqual([
      ann('user', { email: 'ann@x.org', role: 'Analyst' }),
      ann('owner', { email: 'ann@x.org', role: 'Analyst' }),
    ]);
    expect(cleanMentions([record, record]).mentions).toEqual([record]);
  });

  it('keep two of a name apart whose addresses differ', () => {
    const two = [ann('person', { email: 'ann@x.org' }), ann('owner', { email: 'ann@y.org' })];
    expect(cleanMentions(two).mentions).toEqual(two);
  });
});
