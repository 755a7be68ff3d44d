import { describe, expect, it } from 'vitest';
import { supersededCause } from '../graph/graph.ts';
import { rejectedCause } from '../vectors/vector-index.ts';
import { clueKeys, kindOfKey, nameKeys } from './blocking-keys.ts';
import { cleanClues, identityOf } from './compare-clues.ts';
import { unnamedEntityName } from './normalize.ts';

describe('stored strings', () => {
  it('keep their values, because rows and indexes contain them', () => {
    expect(unnamedEntityName).toBe('(no visible name)');
    expect(cleanClues({ identity: 'looker#folder/7' }).notes).toEqual(['source id: looker#folder/7']);
    expect(identityOf('source id: looker#folder/7')).toBe('looker#folder/7');
    expect(rejectedCause).toBe('EMBEDDING_REFUSED');
    expect(supersededCause).toBe('SUPERSEDED');
  });

  it('keep the prefixes of lookup keys', () => {
    expect(nameKeys('Alice Chen', 'person').stored).toEqual(
      expect.arrayContaining(['i:a chen', 's:alice chen', 'w:chen', 'i:h achen', 'p:a che']),
    );
    expect(nameKeys('Acme Foods GmbH', 'organization').stored).toContain('s:o acmefoods');
    expect(nameKeys('Project Phoenix', 'project').stored).toContain('s:t phoenix');
    expect(clueKeys(['a@acme.com'], ['source id: looker#folder/7', 'phone: 5550100'])).toEqual([
      'd:looker#folder/7',
      'e:a@acme.com',
      'f:phone=5550100',
    ]);
    expect(['d:x', 'e:x', 'i:x', 'r:x', 'w:x'].map(kindOfKey)).toEqual([
      'identity',
      'email',
      'initials',
      'nickname',
      'part',
    ]);
  });
});
