// A process that serves the routes of the gateway and passes everything else on to the main process, which has the stores.
import type { Socket } from 'node:net';
import { version } from '../../config/version.ts';
import type { EmittedEvent, Log } from '../../core/index.ts';
import { CoreError, every, systemClock, systemIds, systemRandom, withTimeout } from '../../core/index.ts';
import type { GatewayStores, GatewayTopic } from '../../gateway/index.ts';
import { openGateway } from '../../gateway/index.ts';
import {
  buildGatewayServer,
  createTokenCheck,
  DashboardSessions,
  drain,
  forwardOthers,
} from '../../http/index.ts';
import type { LedgerRecorder } from '../../ledger/index.ts';
import type { AuditTrail } from '../../operations/audit.ts';
import { monitorEventLoop } from '../../platform/telemetry/process-metrics.ts';
import { openTracer } from '../../platform/telemetry/tracing.ts';
import { listen, serverSettings } from '../listen.ts';
import { createTelemetry } from '../telemetry.ts';
import type { FromProcess, ProcessSettings, ReportedEvent, ToProcess } from './protocol.ts';
import { receivedError } from './protocol.ts';

/** Longer than the main thread of the main process may be busy: an answer that is late is not worth an error. */
const callTimeoutMs = 30_000;
const reportMs = 100;

/** The main process emits them itself. */
const eventsOfMain: ReadonlySet<string> = new Set(['gateway:model-state-changed', 'gateway:unknown-names']);

/** One implementation: its entry imports the type alone, and the module later. */
export interface GatewayProcess {
  receive(message: ToProcess, socket?: Socket): void;
}

export async function serveGateway(settings: ProcessSettings): Promise<GatewayProcess> {
  const { config, env, adminToken, mainUrl, uploadTimeoutSeconds } = settings;
  const closing = new AsyncDisposableStack();
  let log: Log | undefined;
  const tracer = await openTracer(config.tracing, version, closing, () => log);
  const telemetry = createTelemetry(config, 'serve', tracer, true);
  ({ log } = telemetry);
  telemetry.redactor.add(adminToken);
  const main = new MainProcess();
  const reported: ReportedEvent[] = [];
  const report = (event: EmittedEvent): void => void reported.push([event.name, event.payload]);
  telemetry.events.listen(report, (name) => !eventsOfMain.has(name));

  const shared = { clock: systemClock, random: systemRandom, ids: systemIds, ...telemetry };
  const gateway = await openGateway({
    ...shared,
    stores: main.stores(),
    options: config.gateway,
    env,
    ledger: main.object('ledger') as LedgerRecorder,
  });
  closing.defer(() => gateway.close());
  const access = {
    isAdminToken: createTokenCheck(adminToken),
    sessions: new DashboardSessions(adminToken, systemClock, systemIds),
    gatewayKeys: gateway,
    // Requests with such a key are passed on.
    organizationKeys: { check: () => null },
  };
  const server = await buildGatewayServer(
    {
      ...shared,
      ...serverSettings(config),
      version,
      access,
      gateway,
      audit: main.object('audit') as AuditTrail,
    },
    uploadTimeoutSeconds,
  );
  forwardOthers(server, { access, clock: systemClock, ids: systemIds, mainUrl });
  // No client uses this address: Node enforces the timeouts of connections only for a server that listens.
  await listen(server, '127.0.0.1', 0);
  closing.defer(
    monitorEventLoop({
      clock: systemClock,
      onBlocked: (cpuMs) => telemetry.events.emit('server:blocked', { cpuMs }),
    }),
  );
  let lastLoad = '';
  const sendReport = (): void => {
    const load = gateway.load();
    const text = JSON.stringify(load);
    if (reported.length === 0 && text === lastLoad) return;
    lastLoad = text;
    send({ kind: 'report', events: reported.splice(0), load });
  };
  closing.defer(every(systemClock, reportMs, async () => sendReport()));
  const stop = async (graceMs: number): Promise<void> => {
    await drain(server, graceMs);
    await closing.disposeAsync();
    const last: FromProcess = { kind: 'report', events: reported, load: gateway.load() };
    // When it is written. The process ends with the connection.
    process.send?.(last, undefined, {}, () => process.disconnect());
  };
  send({ kind: 'ready' });
  return {
    receive: (message, socket) => {
      if (message.kind === 'stop') void stop(message.graceMs);
      if (message.kind !== 'connection') return;
      send({ kind: 'taken' });
      if (socket) {
        // As the sockets that a server of node:http accepts.
        socket.allowHalfOpen = true;
        server.server.emit('connection', socket);
      }
    },
  };
}

/** What the main process has, and this one calls. */
class MainProcess {
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #watchers = new Set<(topic: GatewayTopic | 'everything') => void>();
  #lastId = 0;

  constructor() {
    process.on('message', (message: ToProcess) => {
      if (message.kind === 'changed') for (const watcher of this.#watchers) watcher(message.topic);
      if (message.kind !== 'reply') return;
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if ('error' in message) waiting?.reject(receivedError(message.error));
      else waiting?.resolve(message.value);
    });
  }

  stores(): GatewayStores {
    const quotas = this.object('quotas') as NonNullable<GatewayStores['quotas']>;
    return {
      models: this.object('models') as GatewayStores['models'],
      cooldowns: this.object('cooldowns') as GatewayStores['cooldowns'],
      attempts: this.object('attempts') as GatewayStores['attempts'],
      contents: this.object('contents') as GatewayStores['contents'],
      keys: this.object('keys') as GatewayStores['keys'],
      usage: this.object('usage') as GatewayStores['usage'],
      responses: this.object('responses') as GatewayStores['responses'],
      probes: this.object('probes') as GatewayStores['probes'],
      discoveries: this.object('discoveries') as GatewayStores['discoveries'],
      changes: {
        isShared: true,
        watch: async (onChange) => {
          this.#watchers.add(onChange);
          return async () => void this.#watchers.delete(onChange);
        },
      },
      quotas: {
        // Waiting is better than to count alone: limits hold for all processes of a server together.
        timeoutMs: callTimeoutMs,
        count: (...args) => quotas.count(...args),
        wait: (...args) => quotas.wait(...args),
        correct: (...args) => quotas.correct(...args),
      },
    };
  }

  /** Every method of it is a call. */
  object(name: string): object {
    return new Proxy(
      {},
      {
        get: (_target, method) =>
          typeof method === 'string' && method !== 'then'
            ? (...args: unknown[]) => this.#call(name, method, args)
            : undefined,
      },
    );
  }

  #call(object: string, method: string, args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    send({ kind: 'call', id, object, method, args });
    return withTimeout(waiting.promise, {
      clock: systemClock,
      timeoutMs: callTimeoutMs,
      onTimeout: () =>
        new CoreError('STATE_UNAVAILABLE', 'The main process did not respond in time.', {
          isRetryable: true,
        }),
    }).finally(() => this.#waiting.delete(id));
  }
}

/** Without a main process this one ends. */
function send(message: FromProcess): void {
  if (process.connected) process.send?.(message, undefined, {}, () => undefined);
}
