// Generated chat requests, served before fastify and by fastify.
import { it } from 'vitest';
import { compareDirectChat } from '../support/gateway/direct-chat.contract.ts';

it('ten thousand chat requests have the same response, calls, rows and events either way', () =>
  compareDirectChat(10_000, 2));
