import { readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { helpDeskCredentials, startHelpDesk } from '../../examples/rest-source/server.ts';
import { systemClock } from '../../src/core/index.ts';
import { createHttpSource } from '../../src/extraction/sources/http-source.ts';
import { loadDescription } from '../../src/extraction/sources/description/load.ts';
import { createUndiciTransport } from '../../src/platform/http-client/undici-transport.ts';
import { byText, walkSource } from '../support/walk-source.ts';

async function example(password = helpDeskCredentials.password) {
  const helpDesk = await startHelpDesk();
  const transport = createUndiciTransport({});
  onTestFinished(async () => {
    await transport.close();
    await helpDesk.stop();
  });
  const yaml = await readFile(new URL('../../examples/rest-source/helpdesk.yaml', import.meta.url), 'utf8');
  const env = {
    HELPDESK_URL: helpDesk.url,
    HELPDESK_USER: helpDeskCredentials.user,
    HELPDESK_PASSWORD: password,
  };
  const description = loadDescription(yaml, { env, file: 'helpdesk.yaml' });
  const ids = Object.fromEntries(
    Object.entries(helpDesk.ids).map(([type, all]) => [type, all.toSorted(byText)]),
  );
  return { helpDesk, ids, source: createHttpSource(description, { transport, clock: systemClock }) };
}

describe('the example of a REST source', () => {
  it.for([3, 10, 50])('is read completely and exactly once, in pages of %i', async (batchSize) => {
    const { helpDesk, ids, source } = await example();
    const walk = await walkSource(source, batchSize);
    expect(walk.ids).toEqual(ids);
    expect(walk.rejected).toBe(0);
    expect(walk.items['tickets']?.[0]).toMatchObject({
      id: 'WEB::1',
      name: 'Something about WEB no. 1',
      owner: '1',
      folder: 'WEB',
      createdAt: 1_700_000_000_000,
    });
    expect(helpDesk.calls.filter((path) => path === '/agents')).toHaveLength(Math.ceil(23 / batchSize));
    expect(helpDesk.calls.filter((path) => path === '/projects')).toHaveLength(Math.ceil(4 / batchSize));
    const perProject = [34, 7, 0, 12].map((count) => Math.max(1, Math.ceil(count / batchSize)));
    expect(helpDesk.calls.filter((path) => path.endsWith('/tickets'))).toHaveLength(
      perProject.reduce((sum, calls) => sum + calls, 0),
    );
  });

  it('continues when the server ends the session', async () => {
    const { helpDesk, ids, source } = await example();
    await source.connect(new AbortController().signal);
    helpDesk.expireTokens();
    expect((await walkSource(source, 10)).ids).toEqual(ids);
  });

  it('names the variables to check when the password is wrong', async () => {
    const { source } = await example('wrong');
    const connecting = source.connect(new AbortController().signal);
    await expect(connecting).rejects.toMatchObject({ code: 'EXTRACTION_UNAUTHENTICATED' });
    await expect(connecting).rejects.toThrow(/auth in helpdesk\.yaml, HELPDESK_USER and HELPDESK_PASSWORD/);
  });
});
