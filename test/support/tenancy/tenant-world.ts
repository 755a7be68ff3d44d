// Organizations, keys and deployments on virtual time, with stores in memory that can fail.
import type { EmittedEvent } from '../../../src/core/index.ts';
import { CoreError, EventBus, seededIds, seededRandom } from '../../../src/core/index.ts';
import { VirtualClock } from '../core/virtual-clock.ts';
import { exampleWorkflow, moment } from './examples.ts';
import { memoryTenantStores } from './memory-tenant-stores.ts';
import type { TenantServices } from '../../../src/tenancy/open-tenancy.ts';
import { openTenants } from '../../../src/tenancy/open-tenancy.ts';
import { tenantEvents } from '../../../src/tenancy/events.ts';
import type { TenantStores } from '../../../src/tenancy/types.ts';

export interface TenantWorld {
  readonly clock: VirtualClock;
  readonly stores: TenantStores;
  readonly emitted: readonly EmittedEvent[];
  /** Unfinished executions, by deployment or organization. */
  readonly unfinished: Set<string>;
  goAway(): void;
  comeBack(): void;
  /** One more process on the same stores. */
  open(change?: Partial<Parameters<typeof openTenants>[0]>): Promise<TenantServices>;
}

export function tenantWorld(): TenantWorld {
  const clock = new VirtualClock(moment(0).getTime());
  const unfinished = new Set<string>();
  const memory = memoryTenantStores((id) => unfinished.has(id));
  const events = new EventBus(tenantEvents);
  const emitted: EmittedEvent[] = [];
  events.listen((event) => void emitted.push(event));
  let isAway = false;
  const guarded = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get:
        (target, name) =>
        async (...values: unknown[]) => {
          if (isAway) throw new CoreError('STATE_UNAVAILABLE', 'The store is away.', { isRetryable: true });
          const method = Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>;
          return method(...values);
        },
    });
  const stores: TenantStores = {
    organizations: guarded(memory.organizations),
    keys: guarded(memory.keys),
    deployments: guarded(memory.deployments),
    changes: memory.changes,
  };
  let processes = 0;
  return {
    clock,
    stores,
    emitted,
    unfinished,
    goAway: () => void (isAway = true),
    comeBack: () => {
      isAway = false;
      memory.changes.notify('everything');
    },
    open: (change = {}) =>
      openTenants({
        clock,
        random: seededRandom(7),
        ids: seededIds(seededRandom((processes += 1)), () => clock.now()),
        events,
        stores,
        workflows: [exampleWorkflow('prompt'), exampleWorkflow('search')],
        maxWaitSeconds: 60,
        webhookSecret: 'a-secret-for-tests',
        isForbiddenHost: (hostname) => hostname === 'localhost',
        ...change,
      }),
  };
}

type Keys = Pick<TenantServices['keys'], 'check'>;

/** The organization of a valid key; null for any other credential. */
export function organizationOf(keys: Keys, credential: string): string | null {
  const check = keys.check(credential);
  return check?.kind === 'valid' ? check.key.organizationId : null;
}

/** Why a known key is rejected. */
export function keyProblem(keys: Keys, credential: string): 'expired' | 'revoked' | null {
  const check = keys.check(credential);
  return check === null || check.kind === 'valid' ? null : check.kind;
}
