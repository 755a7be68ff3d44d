// Documents that are large or made to be slow, through a complete server until they are read: its main thread stays free.
import { expect, it } from 'vitest';
import { longestTaskMs, maxTaskMs } from '../support/longest-task.ts';
import { callAsAdmin, startTestServer, testConfig } from '../support/test-server.ts';

const sentences = 'Ann Lee of Acme Corp decided to move the launch to May. Ben Roth will call the port.\n\n';
const file = (name: string, text: string) => ({
  file: { name, content: Buffer.from(text).toString('base64') },
});

it('does not block while it accepts and reads any document (B1)', { timeout: 1_800_000 }, async () => {
  const server = await startTestServer(await testConfig());
  const ingest = async (body: object) => {
    const accepted = await callAsAdmin(server, 'POST', '/api/v1/knowledge/artifacts', body);
    expect(accepted.status, JSON.stringify(accepted.body).slice(0, 300)).toBeLessThan(300);
    const { id } = accepted.body as { id: string };
    await expect
      .poll(
        async () => {
          const { body: found } = await callAsAdmin(server, 'GET', `/api/v1/knowledge/artifacts/${id}`);
          return (found as { status: { state: string } }).status.state;
        },
        { timeout: 900_000, interval: 500 },
      )
      .not.toMatch(/queued|running/);
  };
  // Loads modules and the word list.
  await ingest({ text: sentences });
  await ingest({ text: sentences.repeat(1_000) });
  const results: Record<string, number> = {};
  for (const [name, body] of Object.entries({
    prose: { text: sentences.repeat(12_000) },
    data: {
      text: JSON.stringify(
        Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`key${index}`, `value ${index}`])),
      ),
    },
    people: {
      text: JSON.stringify(
        Array.from({ length: 12_000 }, (_, index) => ({
          owner: { name: `Ann ${index.toString(36)} Lee`, email: `a${index}@x.example` },
        })),
      ),
    },
    mail: file('a.eml', `From: x${' '.repeat(3_000)}y\nTo: ${'a@'.repeat(1_500)} b\nSubject: s\n\nHello`),
  }))
    results[name] = await longestTaskMs(() => ingest(body));
  for (const [name, longest] of Object.entries(results)) expect(longest, name).toBeLessThan(maxTaskMs);
});
