import { describe, expect, it } from 'vitest';
import { createAdmission } from './admission.ts';

describe('createAdmission', () => {
  it.for([0, -1, 1.5, Number.NaN, Infinity, '3' as never])('rejects the limit %s', async (limit) => {
    await expect(createAdmission({ limits: { acme: limit } })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('limits.acme must be a whole number from 1') as string,
    });
  });

  it('rejects a misspelled option and names the one that was meant', async () => {
    await expect(createAdmission({ globallimit: 1 } as never)).rejects.toThrow('did you mean "globalLimit"?');
  });

  it('names the option of the library that is invalid', async () => {
    await expect(createAdmission({ globalLimit: 0 })).rejects.toThrow(/^globalLimit must be /);
  });

  it('rejects the limit 0 of setLimit and calls after close without mention of a server', async () => {
    const admission = await createAdmission({ limits: { acme: 1 } });
    await expect(admission.setLimit('acme', 0)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/^limit must be a whole number from 1 to \d+\.$/) as string,
    });
    await admission.acquire('acme');
    const waiting = admission.acquire('acme', { waitMs: 60_000 }).catch((error: unknown) => error);
    await admission.close();
    const closed = {
      code: 'CLOSED',
      message: 'This admission controller is closed. Use another one.',
    };
    expect(await waiting).toMatchObject(closed);
    await expect(admission.acquire('acme')).rejects.toMatchObject(closed);
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
