import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../test/support/services.ts';
import { systemIds } from '../core/index.ts';
import { ensureAdminToken, readAdminToken } from './admin-token.ts';

describe('the admin token', () => {
  it('is made once, kept for the owner only, and found again', async () => {
    const folder = await temporaryFolder();
    expect(await readAdminToken(folder, null)).toBeNull();
    const first = await ensureAdminToken(folder, null, systemIds);
    const second = await ensureAdminToken(folder, null, systemIds);
    expect(first.isNew).toBe(true);
    expect(second).toEqual({ token: first.token, isNew: false });
    expect(first.token).toMatch(/^hw_admin_[\w-]{43}$/);
    expect((await stat(join(folder, 'admin-token'))).mode & 0o777).toBe(0o600);
  });

  it('comes from the configuration when that has one, and is then not written down', async () => {
    const folder = await temporaryFolder();
    expect(await ensureAdminToken(folder, 'configured-token-123', systemIds)).toEqual({
      token: 'configured-token-123',
      isNew: false,
    });
    expect(await readAdminToken(folder, null)).toBeNull();
  });
});
