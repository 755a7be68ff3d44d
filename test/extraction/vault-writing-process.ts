// A process that resumes the extraction of 12 pages, reports each committed page, and exits at a given place:
// `node vault-writing-process.ts VAULT PAGE PLACE`, the place being an item, the `end` of the page's transaction, or
// `after` its commit.
import { systemClock, systemIds } from '../../src/core/index.ts';
import type { ParsedItem, ParsedPage } from '../../src/extraction/types.ts';
import { PageWriter } from '../../src/extraction/vault/page-writer.ts';
import { contentHash } from '../../src/extraction/vault/page-writer.ts';
import { openVault } from '../../src/extraction/vault/sessions.ts';
import { offsetPage } from '../support/extraction/pages.ts';

const [path = '', killPage, killPlace] = process.argv.slice(2);
const pageCount = 12;
const pageSize = 25;
const filler = 'x'.repeat(10_000);

function dieAt(page: number, place: string): void {
  // The process ends here.
  if (String(page) === killPage && place === killPlace) process.kill(process.pid, 'SIGKILL');
}

function itemOf(page: number, place: number): ParsedItem {
  const id = `${page}-${place}`;
  const bytes = Buffer.from(JSON.stringify({ id, filler }));
  return {
    id,
    idKinds: 0,
    name: null,
    owner: null,
    folder: null,
    createdAt: null,
    updatedAt: null,
    rawHash: contentHash(bytes),
    // Read when the items before this one are written.
    get raw() {
      dieAt(page, String(place));
      return bytes;
    },
  };
}

const pageOf = (page: number): ParsedPage => ({
  request: { ...offsetPage('things', page * pageSize, pageSize), key: String(page) },
  items: Array.from({ length: pageSize }, (_, place) => itemOf(page, place)),
  rejected: [],
  nextCursor: null,
  total: null,
  elements: [],
  // Read when all items are written, and the page is not yet marked.
  get children() {
    dieAt(page, 'end');
    return [];
  },
});

const vault = openVault(path, { source: 'killed', clock: systemClock, ids: systemIds });
const writer = new PageWriter(path, { clock: systemClock, writeLock: vault.writeLock });
const session = vault.sessions.open({
  source: 'killed',
  types: [
    {
      name: 'things',
      number: null,
      endpoints: [{ name: '', pagination: 'offset' }],
      shape: { items: { kind: 'single' }, id: [['id']] },
    },
  ],
  workerCount: null,
  config: {},
  fresh: false,
  retryFailed: false,
});
const done = new Set(session.progress[0]?.done.map(({ request }) => request.key));
process.stdout.write(`resumed ${done.size}\n`);
for (let page = 0; page < pageCount; page++) {
  if (done.has(String(page))) continue;
  writer.write(session.id, pageOf(page), { total: null, nextLink: null });
  dieAt(page, 'after');
  process.stdout.write(`page ${page}\n`);
}
process.stdout.write(
  `${vault.sessions.finishType(session.id, 'things', {
    expectedTotal: pageCount * pageSize,
    ends: { total: 1 },
  })}\n`,
);
writer.close();
vault.close();
