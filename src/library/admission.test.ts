import { describe, expect, it } from 'vitest';
import { createAdmission } from './admission.ts';

describe('createAdmission', () => {
  it.for([0, -1, 1.5, Number.NaN, Infinity, '3' as never])('rejects the limit %s', async (limit) => {
    await expect(createAdmission({ limits: { acme: limit } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('limits.acme must be a whole number from 1') as string,
    });
  });

  it('rejects a misspelled option and names the one that was meant', async () => {
    await expect(createAdmission({ globallimit: 1 } as never)).rejects.toThrow('did you mean "globalLimit"?');
  });

  it('never grants more than the limit of an organization or the global limit', async () => {
    const admission = await createAdmission({ globalLimit: 3, limits: { acme: 2 } });
    const slots = [await admission.acquire('acme'), await admission.acquire('acme')];
    await expect(admission.acquire('acme')).rejects.toMatchObject({ code: 'ADMISSION_ORG_LIMIT' });
    slots.push(await admission.acquire('globex'));
    await expect(admission.acquire('globex')).rejects.toMatchObject({ code: 'ADMISSION_GLOBAL_LIMIT' });
    await slots[0]?.release();
    await slots[0]?.release();
    await admission.acquire('acme');
    await expect(admission.acquire('acme', { waitMs: 5 })).rejects.toMatchObject({
      code: 'ADMISSION_ORG_LIMIT',
    });
    await admission.close();
  });
});
