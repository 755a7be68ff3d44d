// What the HTTP server tells the rest of the house.
import { event } from '../core/index.ts';

export const httpEvents = {
  'http:request-finished': event<{
    requestId: string;
    method: string;
    /** The route's pattern, never the path that was called; `unmatched` where there is none. */
    route: string;
    /** As text, for the metric's label; 499 when the caller left before the answer. */
    status: string;
    durationMs: number;
  }>({
    level: 'debug',
    message: 'answered a request',
    counter: {
      name: 'headworks_http_requests_total',
      help: 'HTTP requests answered.',
      labels: ['method', 'route', 'status'],
    },
    histogram: {
      name: 'headworks_http_request_duration_seconds',
      help: 'Time from the request to the end of its answer; streams count until they end.',
      field: 'durationMs',
      labels: ['method', 'route'],
    },
  }),
  'http:changed': event<{
    /** Of the route, as in the audit log: `limits.set`. Never of what, or to what. */
    operation: string;
  }>({ level: 'debug', message: 'changed something over the API' }),
  'http:access-refused': event<{ requestId: string; route: string; code: string }>({
    level: 'warn',
    message: 'refused a request',
    counter: {
      name: 'headworks_http_access_refused_total',
      help: 'Requests refused for their credentials, host or origin.',
      labels: ['code'],
    },
  }),
  'http:audit-failed': event<{ requestId: string; action: string; status: number; cause: string }>({
    level: 'error',
    message: 'an admin action happened, but its audit row could not be written',
    counter: { name: 'headworks_http_audit_failures_total', help: 'Audit rows that could not be written.' },
  }),
  'http:stream-dropped': event<{ requestId: string; route: string; bufferedBytes: number }>({
    level: 'warn',
    message: 'closed a stream whose reader was too slow',
    counter: { name: 'headworks_http_streams_dropped_total', help: 'Streams closed for slow readers.' },
  }),
} as const;

export type HttpEvents = typeof httpEvents;
