// How calls prove who asks: a port with two ways of keeping it, fixed headers and a token that is renewed.
import type { Clock, LinkedSignal } from '../../core/index.ts';
import { abortable, linkSignals } from '../../core/index.ts';

/** What one call carries. */
export interface Grant {
  readonly headers: Readonly<Record<string, string>>;
  /** The server answered 401 to it. True: ask again, with a new grant. False: there is no better one. */
  refused(): boolean;
}

export interface Authorizer {
  /** Fails as the login that it may need fails, or with the signal's reason. */
  grant(signal: AbortSignal): Promise<Grant>;
}

/** Headers that never change. */
export function fixedAuthorizer(headers: Readonly<Record<string, string>>): Authorizer {
  const grant: Grant = { headers, refused: () => false };
  return { grant: () => Promise.resolve(grant) };
}

export interface Token {
  readonly value: string;
  /** Null: it holds until the server refuses it. */
  readonly lifetimeMs: number | null;
}

export interface TokenAuthorizerOptions {
  /** Gets a new token. The signal aborts when nobody waits for it any more. */
  readonly login: (signal: AbortSignal) => Promise<Token>;
  readonly headersFor: (token: string) => Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** Told each token before it is used, so that it can be kept out of logs. */
  readonly onSecret?: (token: string) => void;
}

/** A token is renewed this long before it expires, or after nine tenths of a shorter life. */
const marginMs = 60_000;

/** A login under way, and how many wait for it. */
interface Renewal {
  readonly token: Promise<string>;
  readonly link: LinkedSignal;
  waiters: number;
}

/**
 * Keeps one token for all calls. Whoever needs a new one while a login is under way waits for that login, which stops
 * when nobody waits for it any more; a 401 for a token that has been replaced meanwhile costs no further login.
 */
export class TokenAuthorizer implements Authorizer {
  readonly #options: TokenAuthorizerOptions;
  readonly #closing = new AbortController();
  #current: { readonly token: string; readonly renewAt: number } | undefined;
  #renewal: Renewal | undefined;

  constructor(options: TokenAuthorizerOptions) {
    this.#options = options;
  }

  async grant(signal: AbortSignal): Promise<Grant> {
    signal.throwIfAborted();
    const token = this.#usable() ?? (await this.#renewed(signal));
    return {
      headers: this.#options.headersFor(token),
      refused: () => {
        if (this.#current?.token === token) this.#current = undefined;
        return true;
      },
    };
  }

  /** Stops a login that is under way; later ones fail. */
  close(): void {
    this.#closing.abort(new Error('The source was closed.'));
  }

  #usable(): string | undefined {
    const current = this.#current;
    return current && this.#options.clock.monotonic() < current.renewAt ? current.token : undefined;
  }

  async #renewed(signal: AbortSignal): Promise<string> {
    const renewal = (this.#renewal ??= this.#startRenewal());
    renewal.waiters += 1;
    try {
      return await abortable(renewal.token, signal);
    } finally {
      renewal.waiters -= 1;
      if (renewal.waiters === 0) this.#endRenewal(renewal);
    }
  }

  #startRenewal(): Renewal {
    const link = linkSignals(this.#closing.signal);
    return { token: this.#renew(link.signal), link, waiters: 0 };
  }

  #endRenewal(renewal: Renewal): void {
    if (this.#renewal === renewal) this.#renewal = undefined;
    renewal.link.abort(new Error('Nobody waits for this login any more.'));
    renewal.link.dispose();
  }

  async #renew(signal: AbortSignal): Promise<string> {
    const { login, clock, onSecret } = this.#options;
    const askedAt = clock.monotonic();
    const { value, lifetimeMs } = await login(signal);
    onSecret?.(value);
    const usableMs =
      lifetimeMs === null ? Number.POSITIVE_INFINITY : lifetimeMs - Math.min(marginMs, lifetimeMs / 10);
    this.#current = { token: value, renewAt: askedAt + usableMs };
    return value;
  }
}
