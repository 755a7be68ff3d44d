// headworks limits, against a server double.
import { describe, expect, it } from 'vitest';
import type { CliWorldOptions } from '../../../test/support/cli-world.ts';
import { CliWorld } from '../../../test/support/cli-world.ts';
import { AdmissionError } from '../../tenancy/index.ts';
import { CoreError } from '../../core/index.ts';

const usage = {
  organization: 5,
  organization_limit: 50,
  organization_percent: 10,
  global: 95,
  global_limit: 100,
  global_percent: 95,
  counted_by: 'slots',
};
const fromDatabase = { ...usage, counted_by: 'executions' };
const limit = {
  organization_id: 'org_a1b2c3d4e5f6g7h8',
  organization_name: 'acme-corp',
  custom_limit: 50 as number | null,
  limit: 50,
  created_at: '2025-11-08T10:30:00.000Z' as string | null,
  modified_at: '2025-11-08T10:30:00.000Z' as string | null,
  cached_limit: 50 as number | null,
  is_cache_known: true,
  usage: usage as typeof usage | null,
};

const world = (answer: CliWorldOptions['answer'], more: CliWorldOptions = {}) =>
  new CliWorld({ ...(answer ? { answer } : {}), ...more });

describe('headworks limits set', () => {
  it('prints the change, the usage, and that the cache is cleared', async () => {
    const at = world(() => ({ ...limit, is_new: true }));
    expect(await at.run('limits', 'set', 'acme corp', '50')).toBe(0);
    expect(at.calls).toMatchObject([
      { method: 'PUT', path: '/api/v1/limits/acme%20corp', body: { limit: 50 } },
    ]);
    expect(at.out).toBe(
      'Created rate limit for organization "acme-corp" (org_a1b2c3d4e5f6g7h8): 50\n' +
        'Current usage: 5/50 concurrent requests\n' +
        '✓ Cache automatically cleared\n',
    );
  });

  it('warns when more is in use than the new limit allows', async () => {
    const at = world(() => ({ ...limit, custom_limit: 3, limit: 3, is_new: false }));
    expect(await at.run('limits', 'set', 'acme-corp', '3')).toBe(0);
    expect(at.out).toContain('Updated rate limit');
    expect(at.out).toContain('⚠ Current usage exceeds the new limit');
    expect(at.out).toContain('until 3 requests have ended');
  });

  it('does not claim a cleared cache while Redis is unavailable', async () => {
    const away = { cached_limit: null, is_cache_known: false, usage: fromDatabase };
    const at = world(() => ({ ...limit, ...away, is_new: false }));
    expect(await at.run('limits', 'set', 'acme-corp', '50')).toBe(0);
    expect(at.out).toContain('Current usage: 5/50 concurrent requests (executions in the database)\n');
    expect(at.out).toContain('their cache was not reached: Redis is unavailable, or another server counts');
    expect(at.out).not.toContain('✓');
  });

  it.each(['0', '-1', '1.5', '1000000000000', 'ten', '', '١٠'])(
    'rejects %j before any call',
    async (text) => {
      const at = world(() => limit);
      expect(await at.run('limits', 'set', 'acme-corp', text)).toBe(2);
      expect(at.err).toContain('whole number from 1 to 2147483647');
      expect(at.calls).toEqual([]);
    },
  );

  it('names an unknown organization', async () => {
    const at = world(() => {
      throw new CoreError('NOT_FOUND', 'There is no organization "unknown".');
    });
    expect(await at.run('limits', 'set', 'unknown', '5')).toBe(1);
    expect(at.err).toContain('There is no organization "unknown".');
  });
});

describe('headworks limits get', () => {
  it('shows limit, cache and usage as in the document, with a warning sign from 90%', async () => {
    const at = world(() => limit);
    expect(await at.run('limits', 'get', 'acme-corp')).toBe(0);
    expect(at.out).toBe(
      [
        'Database Limit: 50',
        'Last Modified: 2025-11-08 10:30:00',
        'Cached Limit: 50 ✓',
        '',
        '--- Current Usage ---',
        'Organization: 5/50 concurrent requests',
        'Global System: 95/100 concurrent requests',
        'Organization at 10.0% capacity',
        '⚠ Global System at 95.0% capacity',
        '',
      ].join('\n'),
    );
  });

  it('shows that the default applies and that nothing is cached', async () => {
    const at = world(() => ({
      ...limit,
      custom_limit: null,
      limit: 20,
      modified_at: null,
      cached_limit: null,
    }));
    await at.run('limits', 'get', 'acme-corp');
    expect(at.out).toContain('Database Limit: not set, using default 20\nCached Limit: not cached\n');
  });

  it('shows what is unknown while Redis is unavailable, and counts in the database', async () => {
    const at = world(() => ({ ...limit, cached_limit: null, is_cache_known: false, usage: fromDatabase }));
    expect(await at.run('limits', 'get', 'acme-corp')).toBe(0);
    expect(at.out).toContain('Cached Limit: unknown: Redis is unavailable, or another server counts\n');
    expect(at.out).toContain('Organization: 5/50 concurrent requests (executions in the database)\n');
    expect(at.out).toContain('Global System: 95/100 concurrent requests (executions in the database)\n');
  });

  it('does not claim a cleared cache that was not reached', async () => {
    const at = world(() => {
      throw new AdmissionError('ADMISSION_NEEDS_REDIS', 'Set REDIS_URL as the servers have it.');
    });
    expect(await at.run('limits', 'get', 'acme-corp', '--clear-cache')).toBe(2);
    expect(await at.run('limits', 'clear-cache', '--all')).toBe(2);
    expect(at.err).toContain('Set REDIS_URL as the servers have it.');
    expect(`${at.out}${at.err}`).not.toContain('✓');
  });

  it('clears the cache first with --clear-cache', async () => {
    const at = world(() => ({ ...limit, usage: null }));
    expect(await at.run('limits', 'get', 'acme-corp', '--clear-cache')).toBe(0);
    expect(at.calls).toMatchObject([{ method: 'POST', path: '/api/v1/limits/acme-corp/refresh-cache' }]);
    expect(at.err).toContain('✓ Cache cleared');
    expect(at.out).toContain('Cached Limit: 50 ✓');
    expect(at.out).toContain('unknown: Redis is unavailable');
  });

  it('prints the response unchanged with --json', async () => {
    const at = world(() => limit);
    await at.run('limits', 'get', 'acme-corp', '--json');
    expect(JSON.parse(at.out)).toEqual(limit);
  });
});

describe('headworks limits list', () => {
  const answer = { default_limit: 20, global_limit: 100, limits: [limit] };

  it('lists without usage, and with --with-usage includes it', async () => {
    const at = world(() => answer);
    expect(await at.run('limits', 'list')).toBe(0);
    expect(at.out).toBe('Found 1 custom rate limit:\n\n• acme-corp (org_a1b2c3d4e5f6g7h8)\n  Limit: 50\n');
    expect(at.calls[0]).toMatchObject({ query: { with_usage: false } });
    at.out = '';
    await at.run('limits', 'list', '--with-usage');
    expect(at.out).toContain('  Usage: 5/50 (10.0%)\n');
    expect(at.calls[1]).toMatchObject({ query: { with_usage: true } });
  });

  it('shows when usage was counted in the database', async () => {
    const at = world(() => ({ ...answer, limits: [{ ...limit, usage: fromDatabase }] }));
    await at.run('limits', 'list', '--with-usage');
    expect(at.out).toContain('  Usage: 5/50 (10.0%) (executions in the database)\n');
  });

  it('prints a message when there is none', async () => {
    const at = world(() => ({ ...answer, limits: [] }));
    await at.run('limits');
    expect(at.out).toBe('No custom rate limits: every organization uses the default of 20.\n');
  });
});

describe('headworks limits delete', () => {
  const answer: CliWorldOptions['answer'] = ({ method }) =>
    method === 'DELETE' ? { ...limit, custom_limit: null, limit: 20 } : limit;

  it('asks, deletes, and prints the limit in effect, as in the document', async () => {
    const at = world(answer, { stdin: 'y\n' });
    expect(await at.run('limits', 'delete', 'acme-corp')).toBe(0);
    expect(at.err).toBe(
      'Organization: acme-corp (org_a1b2c3d4e5f6g7h8)\n' +
        'Current custom limit: 50\n\n' +
        'This will delete the custom rate limit and revert to the system default.\n' +
        // Without a terminal no typed input ends the line.
        'Continue? [y/N]: \n\n',
    );
    expect(at.out).toBe(
      'Deleted custom rate limit for organization "acme-corp" (org_a1b2c3d4e5f6g7h8)\n' +
        'Will now use system default: 20\n' +
        'Current usage: 5/20 concurrent requests\n' +
        '✓ Cache automatically cleared\n',
    );
  });

  it.each(['n\n', '', 'yellow\n'])('deletes nothing after %j', async (stdin) => {
    const at = world(answer, { stdin });
    expect(await at.run('limits', 'delete', 'acme-corp')).toBe(1);
    expect(at.calls.map(({ method }) => method)).toEqual(['GET']);
    expect(at.out).toBe('Nothing was deleted.\n');
  });

  it('does not ask with --force, and cannot ask with --json', async () => {
    const at = world(answer);
    expect(await at.run('limits', 'delete', 'acme-corp', '--force', '--json')).toBe(0);
    expect(at.calls.map(({ method }) => method)).toEqual(['DELETE']);
    expect(await at.run('limits', 'delete', 'acme-corp', '--json')).toBe(2);
    expect(at.err).toContain('--force');
    expect(at.calls).toHaveLength(1);
  });

  it('reports that there is nothing to delete', async () => {
    for (const flags of [[], ['--force']]) {
      const at = world(() => ({ ...limit, custom_limit: null, limit: 20 }), { stdin: 'y\n' });
      expect(await at.run('limits', 'delete', 'acme-corp', ...flags)).toBe(2);
      expect(at.err).toMatch(/"acme-corp" .* no custom limit; the default of 20 applies/);
      expect(at.calls.map(({ method }) => method)).toEqual(['GET']);
    }
  });
});

describe('headworks limits clear-cache', () => {
  it('prints the texts of the founding document with --all', async () => {
    const at = world(() => ({ deleted: 138 }));
    expect(await at.run('limits', 'clear-cache', '--all')).toBe(0);
    expect(at.calls).toMatchObject([{ path: '/api/v1/limits/clear-cache', body: { all: true } }]);
    expect(at.out).toBe(
      'Clearing cache for ALL organizations (including those using defaults)...\n' +
        'Deleted 138 cache keys using pattern\n' +
        '✓ Cleared all organization rate limit caches using pattern deletion\n' +
        'Note: Cache will be repopulated on next API request for each org\n',
    );
  });

  it.each([
    [[], undefined, 'organizations with custom limits'],
    [['--organization', 'acme-corp'], { organization: 'acme-corp' }, 'organization acme-corp'],
  ])('names the organizations with %j', async (flags, body, whose) => {
    const at = world(() => ({ deleted: 1 }));
    expect(await at.run('limits', 'clear-cache', ...flags)).toBe(0);
    expect(at.calls).toMatchObject([
      { method: 'POST', path: '/api/v1/limits/clear-cache', ...(body && { body }) },
    ]);
    expect(at.out).toBe(
      `Clearing cache for ${whose}...\nDeleted 1 cache key\n✓ Cleared rate limit cache for ${whose}\n` +
        'Note: Cache will be repopulated on next API request for each org\n',
    );
  });

  it('accepts one organization or all, not both', async () => {
    const at = world(() => ({ deleted: 0 }));
    expect(await at.run('limits', 'clear-cache', '--all', '--organization', 'x')).toBe(2);
    expect(at.calls).toEqual([]);
  });
});
