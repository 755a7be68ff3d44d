// A process that records attempts until it is killed, one every few milliseconds, and prints them.
// node gateway-stores-recorder.ts <database url> <schema>
import { EventBus, systemClock, systemIds, systemRandom } from '../../src/core/index.ts';
import { gatewayEvents } from '../../src/gateway/events.ts';
import { openGatewayStores } from '../../src/gateway/open-gateway.ts';
import { exampleAttempt, exampleModel } from '../support/gateway/examples.ts';
import { GatewayState } from '../../src/gateway/state/gateway-state.ts';
import { openServerDatabase } from '../../src/platform/postgres/server/server-store.ts';

const [url = '', schema = ''] = process.argv.slice(2);
const database = await openServerDatabase({ url, schema, clock: systemClock, poolSize: 2 });
const state = await GatewayState.open({
  stores: openGatewayStores({ database, redis: null }, systemClock),
  clock: systemClock,
  random: systemRandom,
  ids: systemIds,
  events: new EventBus(gatewayEvents),
  builtIn: [exampleModel('a/one')],
  configured: [],
  providers: [],
  windowDays: 7,
});
const modelId = state.models.list()[0]?.id ?? 0;
for (let number = 0; ; number += 1) {
  const at = systemClock.now();
  state.attempts.record(exampleAttempt({ modelId, requestId: `r${number}`, at }));
  process.stdout.write(`${number} ${at}\n`);
  await systemClock.sleep(5);
}
