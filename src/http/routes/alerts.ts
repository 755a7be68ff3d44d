// What needs somebody's attention.
import type { HttpDependencies } from '../ports.ts';
import { errorAnswers } from '../schemas/error.ts';
import { alertsAnswer, viewOfAlert } from '../schemas/limits.ts';
import type { TypedServer } from './typed-server.ts';

export function alertRoutes(server: TypedServer, { tenants }: HttpDependencies): void {
  server.get(
    '/api/v1/alerts',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'alerts.list',
        tags: ['operations'],
        summary: 'Alerts that are pending or firing, as this server sees them',
        description: 'The same rules are shipped for Prometheus in monitoring/headworks-alerts.yml.',
        response: { 200: alertsAnswer, ...errorAnswers },
      },
    },
    async () => ({ alerts: tenants.alerts.list().map(viewOfAlert) }),
  );
}
