// A sample of test/slow/lying-servers.test.ts.
import { describe } from 'vitest';
import { testLyingServers } from '../support/extraction/lying-servers.contract.ts';

describe('a vault of a server that lies', () => {
  testLyingServers(100);
});
