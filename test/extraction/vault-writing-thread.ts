// A thread that writes some of the pages of a session, each with 20 items of which some are on several pages.
import { workerData } from 'node:worker_threads';
import { systemClock } from '../../src/core/index.ts';
import { PageWriter } from '../../src/extraction/vault/page-writer.ts';
import { contentHash } from '../../src/extraction/vault/page-writer.ts';
import { offsetPage } from '../support/extraction/pages.ts';

const { path, writeLock, session, pages, isDying } = workerData as {
  path: string;
  writeLock: SharedArrayBuffer;
  session: string;
  pages: readonly number[];
  isDying: boolean;
};
const writer = new PageWriter(path, { clock: systemClock, writeLock });
for (const page of pages) {
  const items = Array.from({ length: 20 }, (_, place) => {
    // Every fifth id is the same on all pages, with other content on each.
    const id = place % 5 === 0 ? `shared-${place}` : `${page}-${place}`;
    const raw = Buffer.from(JSON.stringify({ id, page, filler: 'x'.repeat(2_000) }));
    const facts = { name: null, owner: null, folder: null, createdAt: null, updatedAt: null };
    return { id, idKinds: 0, ...facts, raw, rawHash: contentHash(raw) };
  });
  const request = { ...offsetPage('dashboards', page * 20, 20), key: String(page) };
  writer.write(
    session,
    { request, items, rejected: [], nextCursor: null, total: null, children: [], elements: [] },
    { total: null, nextLink: null },
  );
}
writer.close();
// As if it exited while it has the write lock.
if (isDying) Atomics.store(new Int32Array(writeLock), 0, 1);
