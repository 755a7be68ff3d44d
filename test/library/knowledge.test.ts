import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createKnowledge } from '../../src/library/knowledge.ts';
import { folderWithStore } from '../support/embedded-database.ts';

it('returns the given id from ingest and as documentId of search results', async () => {
  const dataFolder = join(await folderWithStore(), '.headworks');
  const knowledge = await createKnowledge({ dataFolder });
  try {
    const text = 'Ada Lovelace decided to move the launch to May.';
    expect(await knowledge.ingest({ id: 'doc-1', title: 'Minutes', text })).toEqual({ id: 'doc-1' });
    const menu = await knowledge.ingest({ title: 'Menu', text: 'On Friday there is soup.' });
    const idOf = async (query: string) => (await knowledge.search(query)).results[0]?.documentId;
    expect(await idOf('launch')).toBe('doc-1');
    expect(await idOf('soup')).toBe(menu.id);
  } finally {
    await knowledge.close();
  }
});
