// Secrets in every log line, event, metric, ledger row, audit row, job and response: none may appear in the output.
import * as fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appEvents } from '../../src/app/telemetry.ts';
import type { CoreErrorCode, EventSpecs, JobDefinition } from '../../src/core/index.ts';
import {
  CoreError,
  EventBus,
  Redactor,
  coreErrorCodes,
  systemClock,
  systemIds,
  systemRandom,
} from '../../src/core/index.ts';
import { buildServer, httpEvents } from '../../src/http/index.ts';
import { liveEventText } from '../../src/http/streams.ts';
import {
  BatchingLedgerRecorder,
  RepairRegistry,
  RepairRunner,
  resolveEntry,
  ledgerEvents,
  openRowsGauge,
} from '../../src/ledger/index.ts';
import { ledgerOptions } from '../../src/ledger/options.ts';
import { PostgresLedgerStore } from '../../src/ledger/store.ts';
import { AuditTrail } from '../../src/operations/audit.ts';
import { retentionEvents } from '../../src/operations/retention.ts';
import { jobEventSpecs } from '../../src/platform/jobs/events.ts';
import { createMemoryJobQueue } from '../support/jobs/memory-job-queue.ts';
import { createLogger, logEvents } from '../../src/platform/telemetry/logger.ts';
import { countEvents, Metrics } from '../../src/platform/telemetry/metrics.ts';
import { sql } from '../../src/platform/postgres/sql.ts';
import { adminToken, asAdmin, createTestDeps } from '../support/http-dependencies.ts';
import type { MigratedDatabase } from '../support/migrated-databases.ts';
import { migratedDatabases } from '../support/migrated-databases.ts';
import { errorWith, findLeak, hiddenIn, secrets, textsIn } from '../support/secrets.ts';

const allEvents: EventSpecs = {
  ...appEvents,
  ...httpEvents,
  ...jobEventSpecs,
  ...ledgerEvents,
  ...retentionEvents,
};
const options = Object.fromEntries(
  Object.entries(ledgerOptions.fields).map(([name, spec]) => [name, spec.default]),
) as { [Name in keyof typeof ledgerOptions.fields]: number };

/** All telemetry at debug level, and everything it wrote. */
function createTelemetry(redactor: Redactor) {
  const output: string[] = [];
  const destination = { write: (line: string) => void output.push(line) };
  const logs = (['json', 'pretty'] as const).map((format) =>
    createLogger({ level: 'debug', format, redactor, destination }),
  );
  const events = new EventBus(allEvents);
  const metrics = new Metrics({ redactor, processMetrics: false });
  for (const log of logs) logEvents(events, log);
  countEvents(events, metrics);
  events.listen((emitted) => void output.push(liveEventText(emitted, 0, redactor)));
  return { output, logs, events, metrics };
}

/** One telemetry for all secrets. */
class ChangingRedactor extends Redactor {
  current = new Redactor();

  override text(text: string): string {
    return this.current.text(text);
  }

  override content(text: string): string {
    return this.current.content(text);
  }

  override value<T>(value: T, rules?: Parameters<Redactor['value']>[1]): T {
    return this.current.value(value, rules);
  }
}

const redactor = new ChangingRedactor();
const telemetry = createTelemetry(redactor);
const parts = { clock: systemClock, random: systemRandom, redactor, events: telemetry.events, options };

async function expectNoLeak(secret: string, further: readonly string[] = []): Promise<void> {
  const texts = [...telemetry.output.splice(0), await telemetry.metrics.text(), ...further];
  expect(texts.join('').length).toBeGreaterThan(100);
  expect(findLeak(secret, texts)).toBeUndefined();
}

/** Checks `push` for many secrets, each known to the redactor before. */
async function forSecrets(runs: number, push: (secret: string) => Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(secrets, async (secret) => {
      redactor.current = new Redactor();
      redactor.current.add(secret);
      redactor.current.add(adminToken);
      await push(secret);
    }),
    { numRuns: runs },
  );
}

describe('no secret appears in', () => {
  it('log lines', async () => {
    await forSecrets(60, async (secret) => {
      for (const log of telemetry.logs)
        for (const text of hiddenIn(secret)) {
          const fields = { text, [text]: 1, deep: { list: [text, { text }] }, map: new Map([[text, text]]) };
          log.info(text, fields);
          log.with(fields).debug('with', { error: errorWith(secret) });
          log.error('failed', { err: errorWith(secret), url: text });
        }
      await expectNoLeak(secret);
    });
  });

  it('events: their log lines, metrics and the live stream', async () => {
    await forSecrets(40, async (secret) => {
      const text = hiddenIn(secret).join(' ');
      for (const [name, spec] of Object.entries(allEvents)) {
        const counters = spec.counter === undefined ? [] : [spec.counter].flat();
        const labels = [...counters.flatMap((each) => each.labels ?? []), ...(spec.histogram?.labels ?? [])];
        const payload = Object.fromEntries(
          [...labels, 'id', 'subject', 'cause'].map((field) => [field, text]),
        );
        telemetry.events.emit(name, { ...payload, extra: { [secret]: secret }, error: errorWith(secret) });
      }
      await expectNoLeak(secret);
    });
  });

  it('jobs that fail, are skipped or report progress', async () => {
    await forSecrets(25, async (secret) => {
      const queue = createMemoryJobQueue({ ...parts, ids: systemIds, redact: (text) => redactor.text(text) });
      const job = (name: string): JobDefinition<unknown> => ({
        name,
        description: '',
        parse: (payload) => payload,
        retries: 0,
        retryDelayMs: 0,
        retryBackoff: false,
        concurrency: 1,
        timeoutMs: 10_000,
      });
      const [failing, skipping] = [job('test.failing'), job('test.skipping')];
      await queue.define([failing, skipping]);
      await queue.work(failing, async (_, { progress }) => {
        progress({ done: 1, message: `at ${secret}` });
        throw errorWith(secret);
      });
      await queue.work(skipping, async () => ({ skipped: `because of ${secret}` }));
      await Promise.all([queue.enqueue(failing, {}), queue.enqueue(skipping, {})]);
      await expect
        .poll(async () => (await queue.list()).map(({ state }) => state).sort())
        .toEqual(['failed', 'skipped']);
      await expectNoLeak(secret, textsIn(await queue.list()));
      await queue.stop(0);
    });
  });
});

describe.each(migratedDatabases.slice(0, 1))('no secret is stored by', (_, open) => {
  let opened: MigratedDatabase;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(() => opened.dispose());

  const rowsOf = async (table: 'ledger_entries' | 'audit_log') =>
    table === 'audit_log'
      ? (await opened.database.query(sql`select * from audit_log`)).rows
      : (await opened.database.query(sql`select * from ledger_entries`)).rows;

  it('the ledger, its repairs and resolution notes', async () => {
    const store = new PostgresLedgerStore(opened.database, systemIds);
    telemetry.metrics.gauge(openRowsGauge(store));
    await forSecrets(25, async (secret) => {
      await opened.database.query(sql`truncate ledger_entries`);
      const recorder = new BatchingLedgerRecorder({ ...parts, store });
      const registry = new RepairRegistry();
      registry.register({ kind: 'demo.kind', describe: '', repair: () => Promise.reject(errorWith(secret)) });
      for (const [index, text] of hiddenIn(secret).entries()) {
        const details = { text, [text]: [{ error: errorWith(secret) }] };
        void recorder.record({
          kind: 'demo.kind',
          subject: `${index} ${text}`,
          cause: text,
          message: text,
          details,
        });
        void recorder.record({ kind: `kind ${text}`, subject: 's', cause: '', message: '' });
      }
      await recorder.close();
      const report = await new RepairRunner({ ...parts, store, registry }).run({ kind: 'demo.kind' });
      expect(report.stillBroken).toBe(hiddenIn(secret).length);
      const [entry] = await store.list({ kind: 'demo.kind' });
      await resolveEntry({ ...parts, store }, entry?.id ?? '', `Entered ${secret} by hand.`);
      await expectNoLeak(secret, textsIn(await rowsOf('ledger_entries')));
    });
  });

  it('the audit trail', async () => {
    const trail = new AuditTrail(opened.database, systemIds, redactor);
    await forSecrets(25, async (secret) => {
      await opened.database.query(sql`truncate audit_log`);
      for (const text of hiddenIn(secret))
        await trail.record({
          at: new Date(),
          actor: text,
          action: text,
          subject: text,
          outcome: 'failed',
          status: 500,
          requestId: text,
          details: { text, [text]: { error: errorWith(secret) } },
        });
      const texts = textsIn(await rowsOf('audit_log'));
      expect(texts.length).toBeGreaterThan(9);
      expect(findLeak(secret, texts)).toBeUndefined();
    });
  });
});

describe('no secret is returned', () => {
  let thrown: unknown;
  let answered: readonly unknown[] = [];
  let server: FastifyInstance;
  const http = createTestDeps({ redactor });
  beforeAll(async () => {
    http.ledgerStore.list = async () => {
      // oxlint-disable-next-line typescript/only-throw-error -- what is thrown need not be an error
      if (thrown !== undefined) throw thrown;
      return answered as never;
    };
    server = await buildServer({
      ...http.dependencies,
      log: telemetry.logs[0] ?? http.dependencies.log,
      metrics: telemetry.metrics,
    });
  });
  afterAll(() => server.close());

  const send = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await server.inject({ method: 'GET', url, headers: { ...asAdmin, ...headers } });
    return { status: answer.statusCode, text: `${JSON.stringify(answer.headers)} ${answer.body}` };
  };

  it('in error responses, whatever was thrown', async () => {
    const codes = Object.keys(coreErrorCodes) as CoreErrorCode[];
    await forSecrets(15, async (secret) => {
      const texts: string[] = [];
      const details = { text: hiddenIn(secret), [secret]: { nested: secret } };
      const errors = codes.map(
        (code) => new CoreError(code, hiddenIn(secret).join(' '), { details, cause: errorWith(secret) }),
      );
      for (const error of [...errors, errorWith(secret), secret, { message: secret }]) {
        thrown = error;
        const { status, text } = await send('/api/v1/ledger');
        expect(status).toBeGreaterThanOrEqual(400);
        texts.push(text);
      }
      await expectNoLeak(secret, texts);
    });
  });

  it('in validation messages', async () => {
    await forSecrets(30, async (secret) => {
      const encoded = encodeURIComponent(secret);
      const texts = await Promise.all([
        send(`/no/such/${encoded}`),
        send(`/api/v1/ledger?limit=${encoded}`),
        send(`/api/v1/ledger?${encoded}=1`),
        send(`/api/v1/ledger/${encoded}`),
        send('/api/v1/ledger', { authorization: `Bearer ${encoded}` }),
        send('/healthz', { 'x-request-id': encoded, host: encoded }),
      ]);
      const responses = texts.map(({ text }) => text);
      await expectNoLeak(secret, responses);
    });
  });

  it('in successful responses', async () => {
    await forSecrets(15, async (secret) => {
      thrown = undefined;
      answered = hiddenIn(secret).map((text) => ({
        id: systemIds.uuid(),
        kind: 'demo.kind',
        subject: text,
        cause: text,
        message: text,
        details: { text, [secret]: text },
        count: 1,
        firstSeenAt: new Date(),
        lastSeenAt: new Date(),
        resolvedAt: null,
        resolution: text,
        repairAttempts: 0,
        nextRepairAt: null,
        lastRepairError: text,
      }));
      const { status, text } = await send('/api/v1/ledger');
      expect(status).toBe(200);
      const metrics = await send('/metrics');
      expect(metrics.status).toBe(200);
      expect(findLeak(secret, [text, metrics.text])).toBeUndefined();
    });
  });
});
