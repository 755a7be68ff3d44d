import { expect, it } from 'vitest';
import { startServer } from './server.ts';

it('rejects a misspelled option and names the one that was meant', async () => {
  await expect(startServer({ dataFoldr: 'x' } as never)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message:
      'startServer has no option "dataFoldr"; did you mean "dataFolder"? ' +
      'Options: dataFolder, databaseUrl, port, host, redisUrl, env.',
  });
});
