// Handlers of the server itself: probes, configuration, diagnosis, backup, audit log, caller.
import { healthApi, serverApi } from '../../api/server.ts';
import { kindOf } from '../../core/index.ts';
import type { DoctorReport, ReadinessReport } from '../../operations/index.ts';
import type { ConfigValue, ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';

export function serverRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { version, instanceId, metrics, metricsAccess } = dependencies;
  implement(
    server,
    healthApi,
    {
      live: async () => ({ status: 'ok' as const, version, instance: instanceId }),
      ready: async ({ reply }) => {
        const report = await readinessOf(dependencies);
        const { isDraining } = server.traffic;
        const status = isDraining ? 'unavailable' : report.status;
        reply.code(status === 'unavailable' ? 503 : 200);
        return {
          ...report,
          status,
          isDraining,
          dependencies: report.dependencies.map(({ required, ...each }) => ({
            ...each,
            isRequired: required,
          })),
        };
      },
      metrics: async ({ reply }) => {
        const text = dependencies.redactor.text(await metrics.text());
        return reply.type(metrics.contentType).serializer(String).send(text);
      },
    },
    { metrics: { access: metricsAccess } },
  );

  let document: string | undefined;
  implement(server, serverApi, {
    getConfig: async () => ({ values: dependencies.configView().map(masked) }),
    runDoctor: async () => {
      const { checks } = await dependencies.doctor();
      return { status: worst(checks), checks };
    },
    createBackup: async ({ body, reply }) =>
      reply
        .headers({ 'content-type': 'application/gzip', 'cache-control': 'no-store, no-transform' })
        .send(dependencies.backup.open(body)),
    // As text: it is large, never changes, and holds no data that could be secret.
    getOpenApi: async ({ reply }) =>
      reply
        .type('application/json; charset=utf-8')
        .serializer(String)
        .send((document ??= JSON.stringify(server.swagger()))),
    listAudit: async ({ query: { limit, after: before } }) => {
      const { items, next } = await pageOf(limit, (most) => dependencies.audit.list({ limit: most, before }));
      return { entries: items, next };
    },
    getCaller: async ({ caller }) => ({
      kind: caller?.kind === 'organization' ? ('organization' as const) : ('admin' as const),
      organizationId: caller?.kind === 'organization' ? caller.organizationId : null,
    }),
  });
}

/** A readiness check that fails is itself a result: not ready. */
async function readinessOf(dependencies: ServerDeps): Promise<ReadinessReport> {
  try {
    return await dependencies.readiness();
  } catch (error) {
    const detail = `The check itself failed (${kindOf(error)}).`;
    const check = {
      name: 'readiness',
      state: 'down',
      required: true,
      detail,
      since: null,
      remedy: null,
    } as const;
    return { status: 'unavailable', dependencies: [check], capabilities: [] };
  }
}

function masked({ value, ...setting }: ConfigValue) {
  const isSet = value !== null && value !== undefined;
  return { ...setting, value: setting.isSecret && isSet ? '[secret]' : (value ?? null) };
}

function worst(checks: DoctorReport['checks']): 'ok' | 'warning' | 'problem' {
  if (checks.some(({ state }) => state === 'problem')) return 'problem';
  return checks.some(({ state }) => state === 'warning') ? 'warning' : 'ok';
}
