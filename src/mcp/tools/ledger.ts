// list_ledger: what degraded or stayed undone on this server.
import { ledgerApi } from '../../api/ledger.ts';
import { toolFor } from '../derive.ts';

export const ledger = toolFor(ledgerApi.list, {
  name: 'list_ledger',
  title: 'List ledger entries',
  description:
    'Operations that failed and were worked around or left undone, newest first, with their cause and when they will be ' +
    'repaired. Use it for "what is broken" and "why is this missing". Most entries are repaired automatically; people ' +
    'can run "headworks repair" to repair them now.',
  describe: { kind: 'For example knowledge.embedding-missing; the status tool counts entries by kind.' },
});
