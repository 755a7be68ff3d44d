import { describe, expect, it } from 'vitest';
import { ExtractionWorld, failure } from '../../../test/support/extraction-world.ts';
import { CoreError } from '../../core/index.ts';
import type { PageRequest } from '../types.ts';

const isAt = ({ position }: PageRequest, offset: number) =>
  position.kind === 'offset' && position.offset === offset;

describe('an extraction', () => {
  it('reads every page once and completes', async () => {
    const world = new ExtractionWorld({ types: { a: 95, b: 5, c: 0 } });
    const result = await world.run();
    expect(result).toMatchObject({
      state: 'completed',
      endedBy: 'finished',
      calls: 12,
      metrics: { total: 100 },
    });
    expect(world.calls).toHaveLength(12);
    expect(world.sessions.finished).toMatchObject({ state: 'completed', run: { calls: 12, errors: 0 } });
  });

  it('makes no call when everything is already extracted', async () => {
    const world = new ExtractionWorld();
    await world.run();
    const before = world.calls.length;
    expect(await world.run()).toMatchObject({ wasComplete: true, state: 'completed', calls: 0 });
    expect(world.calls).toHaveLength(before);
  });

  it('has as many pages in flight as it has workers, and one in sequential mode', async () => {
    for (const workers of [1, 4]) {
      const world = new ExtractionWorld({ parallel: { workers }, latencyMs: 100 });
      await world.run();
      const atOnce = Map.groupBy(world.calls.slice(1), ({ at }) => at);
      expect(Math.max(...atOnce.values().map((calls) => calls.length))).toBe(workers);
      expect(world.sessions.spec?.workerCount).toBe(workers === 1 ? null : 4);
    }
  });

  it('stops after its maximum number of calls, and continues from there', async () => {
    const world = new ExtractionWorld({ maxCalls: 4 });
    expect(await world.run()).toMatchObject({ state: 'interrupted', endedBy: 'max-calls', calls: 4 });
    expect(await world.run({ maxCalls: null })).toMatchObject({
      state: 'completed',
      calls: 7,
      isResumed: true,
    });
    expect(world.calls).toHaveLength(11);
  });
});

describe('a page that cannot be fetched', () => {
  it('is requested again after server errors, network errors and timeouts, with growing delays', async () => {
    for (const kind of ['server-error', 'network', 'timeout'] as const) {
      const world = new ExtractionWorld({
        types: { things: 5 },
        call: (_request, attempt) => {
          if (attempt <= 2) throw failure(kind, 500);
        },
      });
      expect(await world.run()).toMatchObject({ state: 'completed', calls: 3 });
      const [first, second, third] = world.calls.map(({ at }) => at);
      expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(500);
      expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(1_000);
    }
  });

  it('fails after its retries: the type is incomplete, the rest is extracted, and the session records it', async () => {
    const world = new ExtractionWorld({
      types: { a: 50, b: 50 },
      call: (request) => {
        if (request.list.type === 'a' && isAt(request, 20)) throw failure('server-error', 500);
      },
    });
    const result = await world.run();
    expect(result.state).toBe('incomplete');
    expect(result.types).toMatchObject([
      { type: 'a', items: 40, state: 'incomplete' },
      { type: 'b', items: 50, state: 'completed' },
    ]);
    expect(world.calls.filter(({ request }) => request.list.type === 'a' && isAt(request, 20))).toHaveLength(
      3,
    );
    expect(world.sessions.failed).toMatchObject([
      { cause: 'server-error', request: { key: 'offset:20+10' } },
    ]);
    expect(world.sessions.finished?.state).toBe('incomplete');
  });

  it('ends after few calls when the source only returns 500', async () => {
    const world = new ExtractionWorld({
      types: { a: 1_000, b: 1_000 },
      call: () => {
        throw failure('server-error', 500);
      },
    });
    expect(await world.run()).toMatchObject({ state: 'incomplete' });
    // Two pages of each type, three tries each.
    expect(world.calls).toHaveLength(12);
  });

  it('is not requested again after a permanent failure', async () => {
    for (const [kind, status] of [
      ['validation', 422],
      ['not-found', 404],
      ['authentication', 403],
    ] as const) {
      const world = new ExtractionWorld({
        types: { a: 30, b: 30 },
        call: (request) => {
          if (request.list.type === 'a') throw failure(kind, status);
        },
      });
      expect(await world.run()).toMatchObject({ state: 'incomplete' });
      expect(world.calls.filter(({ request }) => request.list.type === 'a')).toHaveLength(1);
      expect(world.sessions.failed).toMatchObject([{ cause: kind }]);
    }
  });

  it('is retried after the Retry-After of a 429, without using a retry', async () => {
    const world = new ExtractionWorld({
      types: { things: 5 },
      retries: 0,
      call: (_request, attempt) => {
        if (attempt <= 3) throw failure('rate-limit', 429, 20_000);
      },
    });
    expect(await world.run()).toMatchObject({
      state: 'completed',
      calls: 4,
      rateLimitedCalls: 3,
      rateLimiter: { total_429_count: 3 },
    });
    const times = world.calls.map(({ at }) => at);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(20_000);
  });

  it('fails when 429 never ends', async () => {
    const world = new ExtractionWorld({
      types: { things: 5 },
      call: () => {
        throw failure('rate-limit', 429, 10);
      },
    });
    expect(await world.run()).toMatchObject({ state: 'incomplete' });
    expect(world.calls.length).toBeLessThan(60);
  });

  it('ends the run, resumable, when the credentials are rejected', async () => {
    const world = new ExtractionWorld({
      call: (request) => {
        if (isAt(request, 30)) throw failure('authentication', 401);
      },
    });
    await expect(world.run()).rejects.toMatchObject({ code: 'EXTRACTION_UNAUTHENTICATED' });
    expect(world.sessions.finished?.state).toBe('failed');
    expect(world.sessions.failed).toEqual([]);
  });

  it('with an unexpected shape is requested again, then stored as a dead letter with that cause', async () => {
    const world = new ExtractionWorld({
      types: { things: 30 },
      process: (request) => (isAt(request, 10) ? 'refuses' : undefined),
    });
    expect(await world.run()).toMatchObject({ state: 'incomplete' });
    expect(world.callsFor('offset:10+10')).toBe(3);
    expect(world.sessions.failed).toMatchObject([{ cause: 'unexpected-shape' }]);
  });
});

describe('worker threads', () => {
  it('read the bytes of a page until they reply: its buffer is not reused before', async () => {
    const world = new ExtractionWorld({
      types: { things: 500 },
      threads: 3,
      processingMs: 7,
      parallel: { workers: 8 },
    });
    // The world rejects a page whose bytes changed.
    expect(await world.run()).toMatchObject({ state: 'completed', metrics: { total: 500 } });
  });

  it('that die are recorded, their page is processed by another without a second call, the rest continue', async () => {
    let deaths = 0;
    const world = new ExtractionWorld({
      threads: 3,
      process: (request) => (isAt(request, 40) && deaths++ === 0 ? 'dies' : undefined),
    });
    const result = await world.run();
    expect(result).toMatchObject({ state: 'completed', calls: 11 });
    const [id, ...others] = Object.keys(result.metrics.worker_errors);
    expect(others).toEqual([]);
    expect(result.metrics.worker_errors[id ?? '']).toEqual(['made-up death']);
    expect(world.eventsNamed('extraction:worker-died')).toMatchObject([{ workersAlive: 2 }]);
  });

  it('are not all lost to one page', async () => {
    const world = new ExtractionWorld({
      threads: 3,
      process: (request) => (isAt(request, 40) ? 'dies' : undefined),
    });
    expect(await world.run()).toMatchObject({ state: 'incomplete', metrics: { total: 90 } });
    expect(world.sessions.failed).toMatchObject([{ cause: 'worker-died', request: { key: 'offset:40+10' } }]);
  });

  it('end the run when none is left', async () => {
    const world = new ExtractionWorld({
      types: { a: 100, b: 100 },
      threads: 2,
      process: () => 'dies',
    });
    await expect(world.run()).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(world.sessions.finished?.state).toBe('failed');
  });

  it('end the run when the vault cannot be written to', async () => {
    const full = new CoreError('SQLITE_FULL', 'the disk is full');
    const world = new ExtractionWorld({ process: (request) => (isAt(request, 50) ? full : undefined) });
    await expect(world.run()).rejects.toBe(full);
    expect(world.sessions.finished?.state).toBe('failed');
  });

  it('that are slow apply backpressure: the queue is bounded in pages', async () => {
    const parallel = { workers: 2, queueSize: 20 };
    const world = new ExtractionWorld({
      types: { things: 2_000 },
      parallel,
      processingMs: 500,
      latencyMs: 1,
    });
    expect(await world.run()).toMatchObject({ state: 'completed', metrics: { total: 2_000 } });
    // The queue, one page per thread, and one per fetcher.
    expect(world.maxUnsettled).toBe(20 + 2 + 2);
  });

  it('that are slow apply backpressure: the queue is bounded in bytes', async () => {
    const parallel = { workers: 2, queueSize: 200 };
    const pageBytes = 2 * 1024 * 1024;
    const world = new ExtractionWorld({ types: { things: 200 }, parallel, processingMs: 500, pageBytes });
    expect(await world.run()).toMatchObject({ state: 'completed' });
    expect(world.maxUnsettled).toBe(4 + 2 + 2);
  });
});

describe('a Ctrl-C', () => {
  const interruptedAt = async (ms: number, options: ConstructorParameters<typeof ExtractionWorld>[0]) => {
    const world = new ExtractionWorld({ types: { things: 1_000 }, ...options });
    const running = world.start();
    await world.clock.advance(ms);
    const before = world.clock.monotonic();
    world.interrupt();
    const result = await world.clock.run(running);
    return { world, result, tookMs: world.clock.monotonic() - before };
  };

  it('stops within two seconds, whatever is running, and the next run requests only what is missing', async () => {
    const { world, result, tookMs } = await interruptedAt(5_000, { latencyMs: 60_000 });
    expect(result).toMatchObject({ state: 'interrupted', endedBy: 'interrupted' });
    expect(tookMs).toBeLessThan(2_000);
    expect(world.sessions.finished?.state).toBe('interrupted');
  });

  it('commits what was fetched, if that is quick', async () => {
    const { world, result } = await interruptedAt(400, { latencyMs: 5, processingMs: 20 });
    const fetched = world.maxUnsettled;
    expect(fetched).toBeGreaterThan(10);
    const pages = world.sessions.done.length;
    expect(result.metrics.total).toBe(pages * 10);
    const inFlight = world.calls.length - pages;
    expect(inFlight).toBeLessThanOrEqual(4 + 4);
  });

  it('drops pages that would take too long: the next run requests them again', async () => {
    const { world, result, tookMs } = await interruptedAt(3_000, { latencyMs: 5, processingMs: 400 });
    expect(result.state).toBe('interrupted');
    expect(tookMs).toBeLessThan(2_000);
    expect(world.sessions.done.length).toBeLessThan(world.calls.length);
  });

  it('takes 600 ms to commit, 250 ms until threads are terminated, and 200 ms for a locked vault', async () => {
    const world = new ExtractionWorld({ types: { things: 1_000 }, processingMs: 60_000 });
    world.sessions.finish = () => {
      throw new CoreError('SQLITE_BUSY', 'locked');
    };
    const running = world.start();
    await world.clock.advance(1_000);
    world.interrupt();
    expect(await world.clock.run(running)).toMatchObject({ state: 'interrupted' });
    expect(world.terminatedAt).toBe(1_000 + 600 + 250);
    const finishMs = world.clock.monotonic() - (world.terminatedAt ?? 0);
    expect(finishMs).toBeGreaterThanOrEqual(200);
    expect(finishMs).toBeLessThan(300);
  });

  it('fails no page when it terminates threads itself', async () => {
    // The page moves from a terminated thread to the next one.
    const world = new ExtractionWorld({
      threads: 4,
      process: (request) => {
        if (!isAt(request, 40)) return undefined;
        world.interrupt();
        return 'dies';
      },
    });
    expect(await world.run()).toMatchObject({ state: 'interrupted', canRetry: false });
    expect(world.sessions.failed).toEqual([]);
  });

  it('reports what was committed although another program has locked the vault at the end', async () => {
    const world = new ExtractionWorld({ types: { things: 1_000 } });
    const running = world.start();
    await world.clock.advance(30);
    world.interrupt();
    world.sessions.finish = () => {
      throw new CoreError('SQLITE_BUSY', 'held');
    };
    const { totals, metrics, calls } = await world.clock.run(running);
    expect(metrics.total).toBeGreaterThan(0);
    expect(totals).toMatchObject({ items: metrics.total, calls });
  });
});

describe('a server that sends Retry-After', () => {
  it.each([
    ['server-error', 503],
    ['timeout', 504],
  ] as const)('is not called again sooner, also after %s', async (kind, status) => {
    const world = new ExtractionWorld({
      types: { things: 5 },
      call: (_request, attempt) => {
        if (attempt === 1) throw failure(kind, status, 90_000);
      },
    });
    expect(await world.run()).toMatchObject({ state: 'completed', calls: 2 });
    const [first, second] = world.calls.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(90_000);
  });
});

describe('a response that is too large', () => {
  it('is not requested again, because it would be as large', async () => {
    const world = new ExtractionWorld({
      call: (request) => {
        if (isAt(request, 20)) throw failure('malformed');
      },
    });
    expect(await world.run()).toMatchObject({ state: 'incomplete', canRetry: true });
    expect(world.callsFor('offset:20+10')).toBe(1);
  });
});

describe('a vault that another process has locked', () => {
  const busy = () => new CoreError('SQLITE_BUSY', 'another process holds it', { isRetryable: true });
  /** Rejects this many writes of the kind. */
  function blockWrites(
    world: ExtractionWorld,
    method: 'open' | 'fail' | 'finishType' | 'finish',
    times: number,
  ) {
    const { sessions } = world;
    const real = sessions[method].bind(sessions) as (...given: never[]) => never;
    let left = times;
    sessions[method] = (...given: never[]) => {
      if (left-- > 0) throw busy();
      return real(...given);
    };
  }
  const failing = () =>
    new ExtractionWorld({
      retries: 0,
      call: (request) => {
        if (isAt(request, 20)) throw failure('server-error', 500);
      },
    });

  it.each(['open', 'fail', 'finishType', 'finish'] as const)('is waited for (%s)', async (method) => {
    const world = failing();
    blockWrites(world, method, 7);
    expect(await world.run()).toMatchObject({ state: 'incomplete', metrics: { total: 90 } });
    expect(world.sessions.failed).toHaveLength(1);
    expect(world.sessions.finished).toMatchObject({ state: 'incomplete' });
  });

  it.each(['open', 'fail', 'finishType', 'finish'] as const)(
    'is waited for no longer than a minute (%s)',
    async (method) => {
      const world = failing();
      blockWrites(world, method, Number.POSITIVE_INFINITY);
      await expect(world.run()).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
      expect(world.clock.monotonic()).toBeLessThan(90_000);
    },
  );

  it.each(['fail', 'finishType'] as const)('does not delay a stop (%s)', async (method) => {
    const world = failing();
    blockWrites(world, method, Number.POSITIVE_INFINITY);
    const running = world.start();
    world.clock.after(5_000, () => world.interrupt());
    expect(await world.clock.run(running)).toMatchObject({ endedBy: 'interrupted' });
    expect(world.clock.monotonic()).toBeLessThan(8_000);
  });
});
