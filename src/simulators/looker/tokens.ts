// Access tokens: given out at login, refused once they are over.
import type { Clock, IdSource } from '../../core/index.ts';
import { seededIds, seededRandom } from '../../core/index.ts';

export class Tokens {
  readonly #clock: Clock;
  readonly #lifetimeMs: number;
  readonly #ids: IdSource;
  readonly #endOf = new Map<string, number>();

  constructor(settings: { readonly clock: Clock; readonly lifetimeMs: number; readonly seed: number }) {
    this.#clock = settings.clock;
    this.#lifetimeMs = settings.lifetimeMs;
    this.#ids = seededIds(seededRandom(settings.seed), () => settings.clock.now());
  }

  grant(): { readonly token: string; readonly expiresInSeconds: number } {
    const now = this.#clock.monotonic();
    for (const [old, end] of this.#endOf) if (end <= now) this.#endOf.delete(old);
    const token = this.#ids.token(30);
    this.#endOf.set(token, now + this.#lifetimeMs);
    return { token, expiresInSeconds: Math.floor(this.#lifetimeMs / 1_000) };
  }

  /** `token X` or `Bearer X`: the X, if it holds now. */
  valid(authorization: string | undefined): string | null {
    const token = /^(?:token|bearer)\s+(\S+)$/i.exec(authorization ?? '')?.[1];
    const end = token === undefined ? undefined : this.#endOf.get(token);
    return token !== undefined && end !== undefined && end > this.#clock.monotonic() ? token : null;
  }

  revoke(token: string): void {
    this.#endOf.delete(token);
  }

  revokeAll(): void {
    this.#endOf.clear();
  }
}
