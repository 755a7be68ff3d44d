// Opens the gateway for the server: stores, network, environment, and scheduled probes.
import type { Config } from '../config/index.ts';
import { systemClock, systemIds, systemRandom } from '../core/index.ts';
import type { Gateway } from '../gateway/index.ts';
import { gatewayRetentionRules, openGateway } from '../gateway/index.ts';
import { postgresGatewayStores, PostgresProbeSchedule } from '../gateway/postgres/usage-stores.ts';
import { RedisQuotaCounter } from '../gateway/quotas/redis-quota-counter.ts';
import type { RetentionRule } from '../operations/retention.ts';
import { createUndiciTransport } from '../platform/http-client/index.ts';
import type { Environment } from './extraction-environment.ts';
import type { ServerRole } from './client/server-file.ts';
import type { Stores } from './stores.ts';
import type { Telemetry } from './telemetry.ts';

export interface StartGatewayDeps {
  readonly config: Config;
  readonly stores: Stores;
  readonly telemetry: Telemetry;
  readonly role: ServerRole;
  /** Contains the provider keys. */
  readonly env: Environment;
}

/** A thousand streams may wait for one provider; undici's connections carry one each. */
const connectionsPerProvider = 4_096;
/** Long enough that a busy gateway does not reconnect for every burst. */
const keepAliveMs = 30_000;

/** A command that runs as a server for a moment schedules no probes. */
export async function startGateway(
  { config, stores, telemetry, role, env }: StartGatewayDeps,
  closing: AsyncDisposableStack,
): Promise<Gateway & { readonly retention: readonly RetentionRule[] }> {
  const transport = createUndiciTransport({ connectionsPerOrigin: connectionsPerProvider, keepAliveMs });
  closing.defer(() => transport.close());
  const gatewayStores = postgresGatewayStores(stores.database, systemClock);
  const gateway = await openGateway({
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    events: telemetry.events,
    redactor: telemetry.redactor,
    transport,
    stores: gatewayStores,
    options: config.gateway,
    env,
    sharedQuotas: stores.redis ? new RedisQuotaCounter(stores.redis) : undefined,
  });
  closing.defer(() => gateway.close());
  if (role !== 'command')
    closing.defer(
      gateway.startHealthChecks(new PostgresProbeSchedule(stores.database), (cause) =>
        telemetry.log.warn('Models could not be probed.', { cause }),
      ),
    );
  return { ...gateway, retention: gatewayRetentionRules(gatewayStores, config.retention) };
}
