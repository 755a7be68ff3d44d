// The audit trail in memory keeps the contract.
import { Redactor, seededIds, seededRandom } from '../../core/index.ts';
import { describeAuditTrailContract } from './audit-trail.contract.ts';
import { MemoryAuditTrail } from './memory-audit-trail.ts';

let now = 0;
const ids = seededIds(seededRandom(1), () => (now += 1));
const redactor = new Redactor();
redactor.add('hunter22');

describeAuditTrailContract('memory', async () => new MemoryAuditTrail(ids, redactor));
