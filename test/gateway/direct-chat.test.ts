// A sample; npm run verify:slow has 10,000 cases.
import { it } from 'vitest';
import { compareDirectChat } from '../support/gateway/direct-chat.contract.ts';

it('a chat request served before fastify has the same response, calls, rows and events as one by fastify', () =>
  compareDirectChat(300));
