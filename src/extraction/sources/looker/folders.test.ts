import { expect, it } from 'vitest';
import { findFolders } from './folders.ts';

const folders = (body: unknown) =>
  findFolders(
    { ids: ['1'], recursive: false },
    {
      api: 'https://looker.example/api/4.0',
      labels: { server: 'Looker', addressSetting: 'A', credentialSettings: 'B' },
      get: async () => ({
        status: 200,
        headers: { 'x-total-count': '1' },
        bytes: Buffer.from(JSON.stringify(body)),
        label: 'GET /folders/search',
      }),
    },
  );

it('reads a page of folders on the main thread only up to a bounded size (B1)', async () => {
  expect(await folders([{ id: 1, name: 'x'.repeat(1_000_000), parent_id: null }])).toEqual(['1']);
  for (const body of [
    Array.from({ length: 60_000 }, () => ({ id: '1', name: '' })),
    [{ id: '1', name: 'x'.repeat(5_000_000) }],
  ])
    await expect(folders(body)).rejects.toThrow(/up to 4 MB/);
});
