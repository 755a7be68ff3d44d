// Gateway state on virtual time, with in-memory stores that can become unavailable, and recorded events.
import { VirtualClock } from '../core/virtual-clock.ts';
import { CoreError, EventBus, seededIds, seededRandom, type EmittedEvent } from '../../../src/core/index.ts';
import { gatewayEvents } from '../../../src/gateway/events.ts';
import { moment } from './examples.ts';
import type { GatewayStateDeps } from '../../../src/gateway/state/gateway-state.ts';
import { GatewayState } from '../../../src/gateway/state/gateway-state.ts';
import type { GatewayStores } from '../../../src/gateway/stores.ts';
import { memoryGatewayStores } from './memory-stores.ts';

export const away = (): CoreError =>
  new CoreError('STATE_UNAVAILABLE', 'The store is away.', { isRetryable: true });

/** Calls `before` ahead of every store call; it may throw. */
export function guarded<Store extends object>(store: Store, before: (method: string) => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...values: unknown[]) => {
        before(String(name));
        return (await Reflect.apply(value, target, values)) as unknown;
      };
    },
  });
}

export function stateWorld() {
  const clock = new VirtualClock(moment(0));
  const memory = memoryGatewayStores(clock);
  const calls: string[] = [];
  let isAway = false;
  const guard = <Store extends object>(what: string, store: Store): Store =>
    guarded(store, (method) => {
      calls.push(`${what}.${method}`);
      if (isAway) throw away();
    });
  const stores: GatewayStores = {
    models: guard('models', memory.models),
    cooldowns: guard('cooldowns', memory.cooldowns),
    attempts: guard('attempts', memory.attempts),
    contents: guard('contents', memory.contents),
    keys: guard('keys', memory.keys),
    usage: guard('usage', memory.usage),
    responses: guard('responses', memory.responses),
    probes: memory.probes,
    discoveries: memory.discoveries,
    changes: memory.changes,
  };
  const events = new EventBus(gatewayEvents);
  const emitted: EmittedEvent[] = [];
  events.listen((event) => emitted.push(event));
  const parts = { clock, random: seededRandom(7), events };
  return {
    ...parts,
    /** The stores themselves, which are always available. */
    memory,
    stores,
    parts,
    calls,
    named: (name: string) => emitted.filter((event) => event.name === name).map(({ payload }) => payload),
    goAway: () => void (isAway = true),
    comeBack: () => {
      isAway = false;
      memory.changes.notify('everything');
    },
    /** Opens another process on the same stores. */
    open: (change: Partial<GatewayStateDeps> = {}) =>
      GatewayState.open({
        ...parts,
        stores,
        ids: seededIds(seededRandom(clock.now()), () => clock.now()),
        builtIn: [],
        configured: [],
        providers: [],
        windowDays: 7,
        ...change,
      }),
  };
}
