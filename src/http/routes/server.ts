// Handlers of the server itself: probes, configuration, diagnosis, backup, audit log, live events, MCP.
import type { FastifyRequest } from 'fastify';
import { maxDocumentBodyBytes } from '../../api/artifacts.ts';
import { healthApi, mcpApi, serverApi, streamsApi } from '../../api/server.ts';
import type { EmittedEvent } from '../../core/index.ts';
import { CoreError, kindOf } from '../../core/index.ts';
import type { DoctorReport, ReadinessReport } from '../../operations/index.ts';
import type { HttpLimits, ServerDeps } from '../deps.ts';
import type { TypedServer } from '../implement.ts';
import { implement, pageOf } from '../implement.ts';
import { clientAbortSignal } from '../lifecycle.ts';
import { eventText, liveEventText, sendStream } from '../streams.ts';

export function serverRoutes(server: TypedServer, dependencies: ServerDeps, limits: HttpLimits): void {
  streamRoutes(server, dependencies);
  mcpRoutes(server, dependencies, limits);
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
    getConfig: async () => dependencies.configView(),
    runDoctor: async () => {
      const { checks } = await dependencies.doctor();
      return { state: worst(checks), checks };
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
      const { items, next } = await pageOf(limit, (max) => dependencies.audit.list({ limit: max, before }));
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
    return { status: 'unavailable', dependencies: [check], capabilities: [], alerts: [] };
  }
}

function worst(checks: DoctorReport['checks']): 'ok' | 'warning' | 'problem' {
  if (checks.some(({ state }) => state === 'problem')) return 'problem';
  return checks.some(({ state }) => state === 'warning') ? 'warning' : 'ok';
}

function streamRoutes(server: TypedServer, dependencies: ServerDeps): void {
  const { presence, instanceId } = dependencies;
  const readers = new LiveReaders(dependencies);
  server.addHook('onClose', async () => readers.close());
  implement(server, streamsApi, {
    streamEvents: async ({ query: { names }, request, reply }) => {
      const read = (event: EmittedEvent): void => {
        if (names?.some((prefix) => event.name.startsWith(prefix)) ?? true)
          stream.write(liveEventText(event, dependencies.clock.now(), dependencies.redactor));
      };
      const stream = server.openStreams.open(request, () => readers.delete(read));
      readers.add(read);
      return sendStream(reply, stream);
    },
    attach: async ({ request, reply }) => {
      const detach = presence.attach();
      try {
        const stream = server.openStreams.open(request, detach);
        stream.write(eventText('attached', { instance: instanceId }));
        return sendStream(reply, stream);
      } catch (error) {
        detach();
        throw error;
      }
    },
    handOver: async () => {
      if (!presence.requestHandover())
        throw new CoreError('CONFLICT', 'This server was started to stay; stop it where it was started.');
      return { accepted: true as const };
    },
  });
}

type ReadEvent = (event: EmittedEvent) => void;

/** Readers of the live stream; listens to events only while there is one. */
class LiveReaders {
  readonly #events: ServerDeps['liveEvents'];
  readonly #readers = new Set<ReadEvent>();
  readonly #pending: EmittedEvent[] = [];
  #isDelivering = false;
  #stopListening: (() => void) | null = null;

  constructor({ liveEvents }: Pick<ServerDeps, 'liveEvents'>) {
    this.#events = liveEvents;
  }

  add(read: ReadEvent): void {
    this.#readers.add(read);
    this.#stopListening ??= this.#events.listen((event) => this.#deliver(event));
  }

  delete(read: ReadEvent): void {
    this.#readers.delete(read);
    if (this.#readers.size === 0) this.close();
  }

  close(): void {
    this.#stopListening?.();
    this.#stopListening = null;
  }

  /** Writing to a reader may itself emit an event (the reader is too slow): that one is delivered afterwards. */
  #deliver(emitted: EmittedEvent): void {
    this.#pending.push(emitted);
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    try {
      for (let event = this.#pending.shift(); event; event = this.#pending.shift())
        for (const read of this.#readers) read(event);
    } finally {
      this.#isDelivering = false;
    }
  }
}

/** Calls of tools have the usual time limit; reporting that it was exceeded takes a little more. */
const reportingMs = 5_000;

function mcpRoutes(server: TypedServer, { mcp, knowledge }: ServerDeps, limits: HttpLimits): void {
  implement(
    server,
    mcpApi,
    {
      call: async ({ request, reply }) => {
        const { status, body } = await mcp({
          caller: callerKind(request),
          credential: credentialOf(request),
          headers: protocolHeaders(request),
          body: request.body,
          signal: clientAbortSignal(reply, server.traffic),
        });
        // As text: it is JSON already.
        return reply.code(status).type('application/json; charset=utf-8').serializer(String).send(body);
      },
    },
    {
      call: {
        bodyLimit: {
          bytes: maxDocumentBodyBytes(knowledge.artifacts.maxDocumentBytes),
          setting: 'knowledge.maxDocumentBytes',
        },
        deadlineMs: limits.handlerTimeoutMs + reportingMs,
      },
    },
  );
}

function callerKind({ caller }: Pick<FastifyRequest, 'caller'>): 'admin' | 'organization' {
  return caller?.kind === 'organization' ? 'organization' : 'admin';
}

/** Not the dashboard's cookie: tools cannot use it. */
function credentialOf({ headers }: Pick<FastifyRequest, 'headers'>): string {
  const credential = headers.authorization?.replace(/^bearer +/i, '');
  if (credential === undefined)
    throw new CoreError('UNAUTHENTICATED', 'Send a key or the admin token in the Authorization header.');
  return credential;
}

/** The headers that the protocol reads. */
function protocolHeaders({ headers }: Pick<FastifyRequest, 'headers'>): Readonly<Record<string, string>> {
  const names = ['accept', 'content-type', 'mcp-protocol-version'] as const;
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])),
  );
}
