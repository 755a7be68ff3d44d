// Contract of sources, with faulty servers.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FetchError } from '../../../src/extraction/errors.ts';
import type { RawPage, PageRequest, Source } from '../../../src/extraction/types.ts';
import { offsetPage } from './pages.ts';
import type { FailureKind } from '../../../src/resilience/index.ts';

/**
 * What the server does with content calls: `hang` never responds, `silent` stops in the middle, `drip` never ends,
 * `reset` disconnects before the response, `truncated` in the middle, `huge` is larger than the limit; `page` is
 * HTML, `nothing` an empty body; `401` rejects any token. A number is that status, with `status N` as the
 * reason; 429 has `retry-after: 7`.
 */
export type Misbehavior =
  | 'hang'
  | 'silent'
  | 'drip'
  | 'reset'
  | 'truncated'
  | 'huge'
  | 'page'
  | 'nothing'
  | number;

/** A server with `ids.length` items of `type`, in pages by offset, behind a login. */
export interface SourceWorld {
  /** With short timeouts for the first byte and the whole call, and a limit of 100 kB. */
  readonly source: Source;
  /** `limiterKey` of the description. */
  readonly limiterKey: string;
  readonly type: string;
  readonly ids: readonly string[];
  /** Items of a page's bytes. */
  idsIn(bytes: Uint8Array): readonly string[];
  /** Whether the server sends the number of items. */
  sendTotal(isSent: boolean): void;
  /** Applies to the next `times` content calls (default: all from now on); null ends it. */
  misbehave(how: Misbehavior | null, times?: number): void;
  /** The next logins return this status or nothing; null ends it. */
  misbehaveAtLogin(how: number | 'hang' | null): void;
  expireTokens(): void;
  contentCalls(): number;
  logins(): number;
  /** Number of permits that the source acquired. */
  permits(): number;
  stop(): Promise<void>;
}

const never = new AbortController().signal;

const failures: readonly (readonly [how: Misbehavior, kind: FailureKind, isTransient: boolean])[] = [
  [429, 'rate-limit', true],
  [500, 'server-error', true],
  [503, 'server-error', true],
  [400, 'validation', false],
  [403, 'authentication', false],
  [404, 'not-found', false],
  [302, 'malformed', false],
  ['hang', 'timeout', true],
  ['silent', 'timeout', true],
  ['drip', 'timeout', true],
  ['reset', 'network', true],
  ['truncated', 'network', true],
  ['huge', 'malformed', false],
  ['page', 'malformed', false],
  ['nothing', 'malformed', false],
];

/** Which of the timeouts it was. */
const reasons: Readonly<Partial<Record<Misbehavior, string>>> = {
  hang: 'no response within',
  silent: 'in the middle of the response',
  drip: 'not finished within',
};

export function describeSourceContract(name: string, makeWorld: () => Promise<SourceWorld>): void {
  describe(`${name} as a source`, () => {
    let world: SourceWorld;
    const page = (offset: number, limit = 10): PageRequest => offsetPage(world.type, offset, limit);
    const fetch = (offset: number, signal = never): Promise<RawPage> =>
      world.source.fetch(page(offset), signal);
    const failureOf = async (work: Promise<unknown>): Promise<FetchError> => {
      const error: unknown = await work.then(() => undefined).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(FetchError);
      return error as FetchError;
    };

    beforeEach(async () => {
      world = await makeWorld();
    });
    afterEach(async () => {
      // For content, a login, or a retry.
      expect(world.permits()).toBe(world.contentCalls() + world.logins());
      await world.source.close();
      await world.stop();
    });

    it('returns every item exactly once over its pages, without an unnecessary call', async () => {
      await world.source.connect(never);
      const offsets = Array.from({ length: Math.ceil(world.ids.length / 10) }, (_, index) => index * 10);
      const pages = await Promise.all(offsets.map((offset) => fetch(offset)));
      expect(pages.flatMap(({ bytes }) => world.idsIn(bytes))).toEqual(world.ids);
      expect(pages.map(({ request }) => request)).toEqual(offsets.map((offset) => page(offset)));
      expect(world.contentCalls()).toBe(offsets.length);
      expect(world.logins()).toBe(1);
    });

    it('returns the total where the server sends it, and null otherwise', async () => {
      world.sendTotal(true);
      expect((await fetch(0)).total).toBe(world.ids.length);
      world.sendTotal(false);
      expect((await fetch(0)).total).toBeNull();
    });

    it('returns an empty page past the end', async () => {
      expect(world.idsIn((await fetch(world.ids.length + 10)).bytes)).toEqual([]);
    });

    it.for(failures)('classifies %s as %s', async ([how, kind, isTransient]) => {
      await world.source.connect(never);
      world.misbehave(how);
      const { failure, message } = await failureOf(fetch(0));
      expect(failure).toMatchObject({ kind, isTransient });
      expect(failure.status).toBe(
        typeof how === 'number' ? how : kind === 'malformed' && how !== 'huge' ? 200 : undefined,
      );
      expect(message).toMatch(typeof how === 'number' ? `status ${how}` : (reasons[how] ?? ''));
      expect(message).toMatch(/^GET http/);
      expect(message).not.toContain('?');
      expect(world.contentCalls()).toBe(1);
      world.misbehave(null);
      expect(world.idsIn((await fetch(0)).bytes)).toHaveLength(10);
    });

    it('returns how long a server requests callers to wait', async () => {
      world.misbehave(429);
      expect((await failureOf(fetch(0))).failure.hint?.retryAfterMs).toBe(7_000);
    });

    it('renews a rejected token and repeats the call, without losing the page', async () => {
      await fetch(0);
      world.expireTokens();
      expect(world.idsIn((await fetch(10)).bytes)).toEqual(world.ids.slice(10, 20));
      expect(world.logins()).toBe(2);
      expect(world.contentCalls()).toBe(3);
    });

    it('acquires a permit before every call: the login, the page, the repeated login, and the repeated page', async () => {
      await world.source.connect(never);
      await fetch(0);
      world.expireTokens();
      await fetch(10);
      expect([world.logins(), world.contentCalls(), world.permits()]).toEqual([2, 3, 5]);
    });

    it('logs in once for all pages whose token is rejected together', async () => {
      await fetch(0);
      world.expireTokens();
      const pages = await Promise.all([0, 10, 20, 0, 10, 20, 0, 10].map((offset) => fetch(offset)));
      expect(pages.every(({ bytes }) => world.idsIn(bytes).length > 0)).toBe(true);
      expect(world.logins()).toBe(2);
    });

    it('makes no third call when a fresh token is rejected too', async () => {
      world.misbehave(401);
      const { failure } = await failureOf(fetch(0));
      expect(failure).toMatchObject({ kind: 'authentication', isTransient: false, status: 401 });
      expect(world.contentCalls()).toBe(2);
      expect(world.logins()).toBe(2);
    });

    it('fails a page in the class in which its login failed, and tries the login again for the next', async () => {
      world.misbehaveAtLogin(503);
      expect((await failureOf(fetch(0))).failure).toMatchObject({ kind: 'server-error', isTransient: true });
      expect(world.contentCalls()).toBe(0);
      world.misbehaveAtLogin(null);
      expect(world.idsIn((await fetch(0)).bytes)).toHaveLength(10);
    });

    it('connects to a server that is busy at first', async () => {
      world.misbehaveAtLogin(503);
      const waits: unknown[] = [];
      const connecting = world.source.connect(never, (why, waitMs) => waits.push([why, waitMs]));
      await expect.poll(() => world.logins()).toBe(1);
      world.misbehaveAtLogin(null);
      await connecting;
      expect(world.logins()).toBe(2);
      expect(waits).toEqual([[expect.stringContaining('503'), 1_000]]);
    });

    it('reports rejected credentials, and makes no further call', async () => {
      world.misbehaveAtLogin(401);
      await expect(world.source.connect(never)).rejects.toMatchObject({ code: 'EXTRACTION_UNAUTHENTICATED' });
      expect(world.logins()).toBe(1);
      const { failure } = await failureOf(fetch(0));
      expect(failure).toMatchObject({ kind: 'authentication', isTransient: false });
    });

    it('stops when its signal aborts: before, while it waits for a page, while it waits for a login', async () => {
      expect((await failureOf(fetch(0, AbortSignal.abort()))).failure.kind).toBe('canceled');
      expect(world.contentCalls() + world.logins()).toBe(0);

      world.misbehaveAtLogin('hang');
      const early = new AbortController();
      const loggingIn = failureOf(fetch(0, early.signal));
      await expect.poll(() => world.logins()).toBe(1);
      early.abort(new Error('enough'));
      expect((await loggingIn).failure).toMatchObject({ kind: 'canceled', isTransient: false });
      world.misbehaveAtLogin(null);

      await world.source.connect(never);
      world.misbehave('hang');
      const stop = new AbortController();
      const waiting = failureOf(fetch(0, stop.signal));
      await expect.poll(() => world.contentCalls()).toBe(1);
      stop.abort(new Error('enough'));
      expect((await waiting).failure).toMatchObject({ kind: 'canceled', isTransient: false });
    });

    it('cancels running calls when it is closed', async () => {
      await world.source.connect(never);
      world.misbehave('hang');
      const waiting = failureOf(fetch(0));
      await expect.poll(() => world.contentCalls()).toBe(1);
      await world.source.close();
      expect((await waiting).failure.kind).toBe('canceled');
    });

    it('names itself and its limiter without credentials', () => {
      const names = world.source.name + world.limiterKey;
      expect(names).not.toMatch(/secret|client-id/);
      expect(world.limiterKey).toMatch(/^[\w.:-]+:[0-9a-f]{16}$/);
    });
  });
}
