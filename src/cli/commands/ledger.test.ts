import { describe, expect, it } from 'vitest';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { HeadworksError } from '../../core/index.ts';

export const entry = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  kind: 'knowledge.embedding-missing',
  subject: 'chunk 7',
  cause: 'HTTP_429',
  message: 'No model was up.',
  count: 3,
  first_seen_at: '2026-03-01T11:00:00Z',
  last_seen_at: '2026-03-01T11:57:00Z',
  resolved_at: null,
  resolution: null,
  repair_attempts: 1,
  next_repair_at: '2026-03-01T12:05:00Z',
  last_repair_error: 'still none',
  details: { chunk: 7 },
};

describe('headworks ledger', () => {
  it('lists open entries and how to repair them', async () => {
    const world = new CliWorld({ answer: () => ({ entries: [entry], next: 'abc' }) });
    expect(await world.run('ledger')).toBe(0);
    expect(world.calls).toMatchObject([
      { method: 'GET', path: '/api/v1/ledger', query: { state: 'open', limit: 50 } },
    ]);
    expect(world.out).toMatch(/chunk 7 +HTTP_429 +3 +3 min ago +next in 5 min\n/);
    expect(world.err).toContain('--after abc');
    expect(world.openClients).toBe(0);
  });

  it('shows the title of a document instead of a chunk id, and the command that opens it', async () => {
    const id = '0195a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';
    const place = { space: 'bi reports', organization: 'acme-corp' };
    const ofChunk = { ...entry, subject: '4711', details: { artifact_id: id, space_id: 3 } };
    const world = new CliWorld({
      answer: ({ path, query }) => {
        if (path.endsWith('/spaces'))
          return {
            spaces: [
              { name: 'default', organization_id: null },
              { name: place.space, organization_id: place.organization },
            ],
          };
        if (path.endsWith('/statuses'))
          return {
            statuses: query?.['space'] === place.space ? [{ id, title: 'Minutes', source_id: 's' }] : [],
          };
        return { entries: [ofChunk, entry], next: null };
      },
    });
    expect(await world.run('ledger')).toBe(0);
    expect(world.out).not.toContain('4711');
    expect(world.out).toMatch(/"Minutes" +HTTP_429/);
    expect(world.out).toMatch(/chunk 7 +HTTP_429/);
    expect(world.out).toContain(`artifacts get ${id} --space 'bi reports' --organization acme-corp\n`);
    expect(world.calls.at(-1)?.query).toEqual({ ids: id, ...place });
  });

  it('passes filters to the server and its response to programs unchanged', async () => {
    const answer = { entries: [entry], next: null, more: 'than the schema has' };
    const world = new CliWorld({ answer: () => answer });
    await world.run(
      'ledger',
      'list',
      '--state',
      'all',
      '--kind',
      'k',
      '--subject',
      's',
      '--limit',
      '7',
      '--after',
      entry.id,
      '--json',
    );
    expect(world.calls[0]?.query).toEqual({
      state: 'all',
      kind: 'k',
      subject: 's',
      limit: 7,
      after: entry.id,
    });
    expect(JSON.parse(world.out)).toEqual(answer);
  });

  it('prints a message when there are no entries', async () => {
    const world = new CliWorld({ answer: () => ({ entries: [], next: null }) });
    await world.run('ledger');
    expect(world.out).toBe('There are no open entries.\n');
  });

  it('shows how an entry was resolved', async () => {
    const resolved = {
      ...entry,
      resolved_at: '2026-03-01T11:59:00Z',
      resolution: 'repair',
      next_repair_at: null,
    };
    const world = new CliWorld({
      answer: ({ path }) => (path.endsWith(entry.id) ? resolved : { entries: [resolved], next: null }),
    });
    await world.run('ledger', 'list', '--state', 'resolved');
    expect(world.out).toContain('repair 1 min ago');
    await world.run('ledger', 'get', entry.id);
    expect(world.out).toMatch(/message +No model was up\.\n/);
    expect(world.out).toMatch(/resolved +2026-03-01T11:59:00Z \(1 min ago\)\n +resolution +repair\n/);
  });

  it('reports the error of the server', async () => {
    const world = new CliWorld({
      answer: () => {
        throw new HeadworksError('LEDGER_ENTRY_UNKNOWN', 'There is no entry x.');
      },
    });
    expect(await world.run('ledger', 'get', entry.id)).toBe(1);
    expect(world.err).toBe('headworks: There is no entry x.\n');
  });
});
