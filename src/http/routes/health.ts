// Probes and metrics.
import { z } from 'zod';
import { kindOf } from '../../core/index.ts';
import type { ReadinessReport } from '../../operations/index.ts';
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { isoOrNull } from '../schemas/fields.ts';
import { healthAnswer, readinessAnswer } from '../schemas/health.ts';
import type { TypedServer } from './typed-server.ts';

const tags = ['health'];

export function healthRoutes(server: TypedServer, dependencies: HttpDependencies): void {
  const { version, instanceId, metrics, metricsAccess } = dependencies;

  server.get(
    '/healthz',
    {
      config: { access: 'public', isServedWhileDraining: true },
      schema: {
        operationId: 'health.alive',
        tags,
        summary: 'Is the process alive?',
        description: 'Answers as long as the process can; asks no dependency.',
        response: { 200: healthAnswer, ...errorAnswers },
      },
    },
    async () => ({ status: 'ok' as const, version, instance: instanceId }),
  );

  server.get(
    '/readyz',
    {
      config: { access: 'public', isServedWhileDraining: true },
      schema: {
        operationId: 'health.ready',
        tags,
        summary: 'Can it work, and on what?',
        description: 'Status 200 when ready or degraded, 503 when unavailable or stopping.',
        response: { 200: readinessAnswer, 503: readinessAnswer, ...errorAnswers },
      },
    },
    async (_request, reply) => {
      const report = await readinessOf(dependencies);
      const draining = server.traffic.isDraining;
      const status = draining ? 'unavailable' : report.status;
      return reply.code(status === 'unavailable' ? 503 : 200).send({
        status,
        draining,
        dependencies: report.dependencies.map((dependency) => ({
          ...dependency,
          since: isoOrNull(dependency.since),
        })),
        capabilities: report.capabilities.map(({ name, isAvailable, detail }) => ({
          name,
          available: isAvailable,
          detail,
        })),
      });
    },
  );

  server.get(
    '/metrics',
    {
      config: { access: metricsAccess, isServedWhileDraining: true },
      schema: {
        operationId: 'health.metrics',
        tags,
        summary: 'Metrics for Prometheus',
        response: {
          200: {
            description: 'Metrics in the Prometheus text format.',
            content: { 'text/plain': { schema: z.string() } },
          },
          ...errorAnswers,
        },
      },
    },
    async (_request, reply) => {
      const text = dependencies.redactor.text(await metrics.text());
      return reply.type(metrics.contentType).serializer(String).send(text);
    },
  );
}

/** A readiness check that fails is itself an answer: not ready. */
async function readinessOf(dependencies: HttpDependencies): Promise<ReadinessReport> {
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
