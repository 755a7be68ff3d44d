// Events of the HTTP server.
import { event } from '../core/index.ts';

export const httpEvents = {
  'http:request-finished': event<{
    requestId: string;
    method: string;
    /** The route's pattern, never the path that was called; `unmatched` where there is none. */
    route: string;
    /** As text, for the metric's label; 499 when the client disconnected before the response. */
    status: string;
    durationMs: number;
  }>({
    level: 'debug',
    message: 'request finished',
    counter: {
      name: 'headworks_http_requests_total',
      help: 'Finished HTTP requests.',
      labels: ['method', 'route', 'status'],
    },
    histogram: {
      name: 'headworks_http_request_duration_seconds',
      help: 'Time from the request to the end of its response; streams count until they end.',
      field: 'durationMs',
      labels: ['method', 'route'],
    },
  }),
  'http:changed': event<{
    /** Operation id, as in the audit log: `limits.set`; never its input. */
    operation: string;
  }>({ level: 'debug', message: 'a change was made over the API' }),
  'http:access-rejected': event<{ requestId: string; route: string; code: string }>({
    level: 'warn',
    message: 'rejected a request',
    counter: {
      name: 'headworks_http_access_rejected_total',
      help: 'Requests rejected because of their credentials, host or origin.',
      labels: ['code'],
    },
  }),
  'http:organization-limited': event<{ requestId: string; organizationId: string }>({
    level: 'debug',
    message: 'rejected a knowledge request: the organization has too many in progress',
    counter: {
      name: 'headworks_http_organization_rejections_total',
      help: 'Knowledge requests rejected because their organization had too many in progress.',
    },
  }),
  'http:audit-failed': event<{ requestId: string; action: string; status: number; cause: string }>({
    level: 'error',
    message: 'an admin action happened, but its audit row could not be written',
    counter: { name: 'headworks_http_audit_failures_total', help: 'Audit rows that could not be written.' },
  }),
  'http:stream-dropped': event<{ requestId: string; route: string; bufferedBytes: number }>({
    level: 'warn',
    message: 'closed a stream because the client read too slowly',
    counter: {
      name: 'headworks_http_streams_dropped_total',
      help: 'Streams closed because the client read too slowly.',
    },
  }),
} as const;

export type HttpEvents = typeof httpEvents;
