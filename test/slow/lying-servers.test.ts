// Thousands of generated servers that lie about their lists.
import { describe } from 'vitest';
import { testLyingServers } from '../support/extraction/lying-servers.contract.ts';

describe('a vault of a server that lies', () => {
  testLyingServers(3_000);
});
