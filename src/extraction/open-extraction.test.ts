import { expect, it } from 'vitest';
import { sourceEnvironment } from './open-extraction.ts';

it('hides the secrets of the server itself from registered sources', () => {
  const env = { SHOP_TOKEN: 'of the shop', HEADWORKS_ADMIN_TOKEN: 'of the server', PATH: '/bin' };
  expect(sourceEnvironment(env, ['HEADWORKS_ADMIN_TOKEN', 'DATABASE_URL'])).toEqual({
    SHOP_TOKEN: 'of the shop',
    PATH: '/bin',
  });
});
