// Only a caller that waits for a slot keeps this process running.
import { createAdmission } from '../../src/library/admission.ts';

const admission = await createAdmission({ limits: { acme: 1 } });
await admission.acquire('acme');
const result = await admission.acquire('acme', { waitMs: 300 }).then(
  () => 'admitted',
  (error: { code: string }) => error.code,
);
process.stdout.write(result);
await admission.close();
