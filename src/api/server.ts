// The server itself: probes, configuration, diagnosis, backup, audit log, attached clients.
import { z } from 'zod';
import { after, id, instant, listOf, next, pageSize } from './fields.ts';
import type { OutputOf } from './operation.ts';
import { operation } from './operation.ts';

const dependencyState = z.enum(['up', 'down', 'not-configured']);

export const Readiness = z
  .object({
    status: z
      .enum(['ready', 'degraded', 'unavailable'])
      .describe('`degraded`: an optional dependency is down, or a critical alert is firing.'),
    is_draining: z.boolean().describe('The server is stopping and accepts no new work.'),
    dependencies: z.array(
      z.object({
        name: z.string().meta({ examples: ['state'] }),
        state: dependencyState,
        is_required: z.boolean().describe('The server is unavailable without it.'),
        detail: z.string().nullable().describe('What was found.'),
        since: instant.nullable().describe('When it entered this state.'),
        remedy: z.string().nullable().describe('What to do; null when nothing is needed.'),
      }),
    ),
    capabilities: z.array(
      z.object({
        name: z.string(),
        is_available: z.boolean(),
        detail: z.string().nullable().describe('Its version, or why it is not available and what to do.'),
      }),
    ),
    alerts: z
      .array(z.string())
      .describe('Names of firing critical alerts; GET /api/v1/alerts has the details.'),
  })
  .meta({ id: 'Readiness', description: 'What the server can do now, dependency by dependency.' });
export type Readiness = z.infer<typeof Readiness>;

export const healthApi = {
  live: operation('GET /healthz', {
    id: 'health.get-liveness',
    summary: 'Check that the process is alive',
    description: 'Calls no dependency.',
    access: 'public',
    isServedWhileDraining: true,
    output: z
      .object({
        status: z.literal('ok'),
        version: z.string().meta({ examples: ['0.2.0'] }),
        instance: z.string().describe('Changes with every start of the server.'),
      })
      .meta({ id: 'Health' }),
  }),

  ready: operation('GET /readyz', {
    id: 'health.get-readiness',
    summary: 'Check which dependencies and capabilities are available',
    description:
      'Status 200 when ready or degraded, 503 when unavailable or stopping. Degraded: an optional store is down, or a ' +
      'critical alert is firing.',
    access: 'public',
    isServedWhileDraining: true,
    output: Readiness,
    otherResponses: { 503: Readiness },
  }),

  metrics: operation('GET /metrics', {
    id: 'health.get-metrics',
    summary: 'Get metrics for Prometheus',
    isServedWhileDraining: true,
    output: {
      description: 'Metrics in the Prometheus text format.',
      content: { 'text/plain': { schema: z.string() } },
    },
  }),
} as const;

const tag = 'operations';

export const serverApi = {
  getConfig: operation('GET /api/v1/config', {
    id: 'config.get',
    tag,
    summary: 'Get every setting and its source',
    description: 'Settings are read once, at start. Secrets are masked.',
    output: z
      .object({
        file: z
          .string()
          .nullable()
          .describe('The configuration file that was read; null when there is none.'),
        options: z.array(
          z.object({
            name: z.string().meta({ examples: ['server.port'] }),
            value: z
              .unknown()
              .describe('Null when not set. A secret is "[hidden]"; of a secret URL the address is shown.'),
            source: z
              .enum(['command', 'flag', 'env', 'file', 'default'])
              .describe('"command": set by the command itself, such as "headworks demo".'),
            source_name: z
              .string()
              .nullable()
              .describe('The command, flag, variable, or file with line; null for defaults.')
              .meta({ examples: ['HEADWORKS_PORT'] }),
            env: z.array(z.string()).describe('Variables that set the option; the first one set is used.'),
            flag: z.string().nullable().describe('The flag that sets the option; null when there is none.'),
            allowed: z.string().describe('The allowed values, in words.'),
            default: z.string().describe('The default, in words where it is computed.'),
            description: z.string(),
            is_secret: z.boolean().describe('Its value is masked.'),
          }),
        ),
        warnings: z.array(z.string()).describe('Settings that are valid but probably not intended.'),
      })
      .meta({ id: 'Config' }),
  }),

  runDoctor: operation('GET /api/v1/doctor', {
    id: 'doctor.run',
    tag,
    summary: 'Check every dependency and setting now',
    description: 'Contacts every dependency, so it takes longer than /readyz.',
    output: z
      .object({
        state: z.enum(['ok', 'warning', 'problem']).describe('The worst of all checks.'),
        checks: z.array(
          z.object({
            name: z.string(),
            state: z.enum(['ok', 'warning', 'problem', 'not-configured']),
            detail: z.string().describe('What was found.'),
            remedy: z.string().nullable().describe('What to do; null when nothing is needed.'),
          }),
        ),
      })
      .meta({ id: 'Doctor' }),
  }),

  createBackup: operation('POST /api/v1/backup', {
    id: 'backup.create',
    tag,
    summary: 'Download a consistent backup of the store and the vaults',
    description:
      'Rows of all tables, jobs included, vaults of extractions, and the webhook signing secret if it is kept in the ' +
      'data folder; not the admin token. Keep it as safe as the store itself. "headworks backup" writes it to a file ' +
      'and verifies it, "headworks restore" reads it.',
    isStream: true,
    body: z.strictObject({
      include_vaults: z.boolean().default(true).describe('Include vaults of extractions.'),
    }),
    output: {
      description: 'JSON lines, compressed with gzip. The last line says whether the backup is complete.',
      content: { 'application/gzip': { schema: z.string() } },
    },
  }),

  getOpenApi: operation('GET /openapi.json', {
    id: 'openapi.get',
    tag,
    summary: 'Get this API as an OpenAPI 3.1 document',
    access: 'public',
    output: z.looseObject({ openapi: z.string() }),
  }),

  listAudit: operation('GET /api/v1/audit', {
    id: 'audit.list',
    summary: 'List changes made with admin rights, newest first',
    query: z.strictObject({ limit: pageSize(500, 100), after }),
    output: z
      .object({
        entries: z.array(
          z.object({
            id,
            at: instant,
            actor: z
              .string()
              .describe('`admin`, or the id of a key.')
              .meta({ examples: ['admin'] }),
            action: z
              .string()
              .describe('Id of the operation.')
              .meta({ examples: ['ledger.repair'] }),
            subject: z.string().nullable().describe('Path parameters; null without any.'),
            outcome: z
              .enum(['completed', 'rejected', 'failed'])
              .describe('`rejected`: status 4xx; `failed`: status 5xx.'),
            status: z.number().int().nullable().describe('HTTP status; null for local commands.'),
            request_id: z
              .string()
              .nullable()
              .describe('x-request-id of the request; null for local commands.'),
          }),
        ),
        next,
      })
      .meta({ id: 'AuditPage' }),
  }),

  getCaller: operation('GET /api/v1/caller', {
    id: 'caller.get',
    tag: 'mcp',
    summary: 'Get the owner of the credentials in use',
    access: 'tenant',
    output: z
      .object({
        kind: z.enum(['admin', 'organization']).describe('Who the credentials belong to.'),
        organization_id: z.string().nullable().describe('Null for the admin.'),
      })
      .meta({ id: 'Caller' }),
  }),
} as const;

const eventStream = {
  description: 'Server-sent events.',
  content: { 'text/event-stream': { schema: z.string() } },
} as const;

/** The `data` of an event on the live stream. */
export const StreamedEvent = z.object({
  name: z.string(),
  at: instant,
  payload: z.record(z.string(), z.unknown()).describe('Ids, classes and numbers; never content.'),
});
export type StreamedEvent = z.infer<typeof StreamedEvent>;

export const streamsApi = {
  streamEvents: operation('GET /api/v1/live', {
    id: 'live.stream',
    tag,
    summary: 'Stream events as they happen',
    description:
      'Server-sent events: `event` (the name) and `data` (JSON: name, at, payload). `stream:closing` announces that ' +
      'the server ends the stream (draining, or the client reads too slowly). Comments are heartbeats. Events that happen ' +
      'while no client is connected are not replayed: read the current state after connecting.',
    isStream: true,
    query: z.strictObject({
      names: listOf(z.string().regex(/^[a-z][a-z0-9:-]*$/, 'must be a prefix of event names, like job:'))
        .optional()
        .describe('Only events whose names have this prefix; separate several with commas.'),
    }),
    output: eventStream,
  }),

  attach: operation('GET /api/v1/attach', {
    id: 'presence.attach',
    tag,
    summary: 'Count the caller as attached while the response is open',
    description:
      'A server that a command started for itself runs as long as a client is attached. Server-sent events: ' +
      '`attached` once, comments as heartbeats, `stream:closing` when the server stops.',
    isStream: true,
    output: eventStream,
  }),

  handOver: operation('POST /api/v1/handover', {
    id: 'presence.hand-over',
    tag,
    summary: 'Request that the server stops so that another one can use its data folder',
    description: 'Only a server that a command started for itself does so; any other server returns 409.',
    status: 202,
    output: z.object({ accepted: z.literal(true) }).meta({ id: 'Handover' }),
  }),
} as const;

export const mcpApi = {
  call: operation('POST /mcp', {
    id: 'mcp.call',
    summary: 'Model Context Protocol: tools and resources for models',
    description:
      'Streamable HTTP without sessions: every message is a POST of its own with a JSON response. GET and DELETE are ' +
      'not supported. See docs/guide/mcp.md for clients and tools.',
    access: 'tenant',
    // Tools call the API with the caller's own credentials: what they change is audited there.
    audit: false,
    anyTextIn: 'everywhere',
    body: z.unknown().describe('One message of JSON-RPC 2.0.'),
    output: z.unknown().describe('The response, as JSON-RPC 2.0.'),
    otherResponses: { 202: z.null().describe('Accepted; this message has no response.') },
  }),
} as const;

export type Doctor = OutputOf<typeof serverApi.runDoctor>;
