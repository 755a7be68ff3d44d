// Runs ten tasks of one organization, never more than two at once.
import { createAdmission } from 'headworks/admission';

const admission = await createAdmission({ globalLimit: 10, limits: { acme: 2 } });
let running = 0;

async function task(number: number): Promise<void> {
  const slot = await admission.acquire('acme', { waitMs: 60_000 });
  try {
    running += 1;
    console.log(`task ${number}: ${running} running`);
    await new Promise((done) => setTimeout(done, 20));
  } finally {
    running -= 1;
    await slot.release();
  }
}

await Promise.all(Array.from({ length: 10 }, (_, number) => task(number)));
await admission.close();
