// Decides which fault affects a call: by the seed, the address, and the number of earlier calls to it.
import { Chance, textHash } from '../chance.ts';
import type { ListingQuery } from './requests.ts';
import type { FaultName, PermanentFailure, SimulatorBehavior, SimulatedType } from './types.ts';
import { faultNames } from './types.ts';
import { malformedKinds } from './responses.ts';

export interface Fault {
  /** Of a login without `login-`. */
  readonly name: FaultName;
  readonly ms: number;
  /** 0 to 3: for faults that come in several kinds. */
  readonly kind: number;
}

const loginPrefix = 'login-';
const isOfLogin = (name: FaultName): boolean => name.startsWith(loginPrefix);

const defaultMs = 1_000;

export class Faults {
  readonly #seed: number;
  readonly #attempts = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The fault of this content call, if it has one. The n-th call of an address always has the same. */
  of(address: string, settings: SimulatorBehavior['faults']): Fault | null {
    return this.#draw(address, settings, (name) => !isOfLogin(name));
  }

  ofLogin(settings: SimulatorBehavior['faults']): Fault | null {
    const fault = this.#draw('/login', settings, isOfLogin);
    return fault && { ...fault, name: fault.name.slice(loginPrefix.length) as FaultName };
  }

  #draw(
    address: string,
    settings: SimulatorBehavior['faults'],
    isEligible: (name: FaultName) => boolean,
  ): Fault | null {
    const attempt = this.#attempts.get(address) ?? 0;
    this.#attempts.set(address, attempt + 1);
    const chance = new Chance(this.#seed, textHash(address), attempt);
    // Every fault draws, so that one more setting does not change what the others do.
    const drawn = faultNames.filter((name) => chance.hits(settings[name]?.probability ?? 0));
    const name = drawn.find(isEligible);
    const kind = chance.below(malformedKinds);
    return name === undefined ? null : { name, ms: settings[name]?.ms ?? defaultMs, kind };
  }
}

export interface CallTarget {
  readonly type: SimulatedType;
  readonly query?: ListingQuery;
  readonly id?: string;
}

/** The permanent failure configured for this call. */
export function permanentFailure(
  { type, query, id }: CallTarget,
  failures: readonly PermanentFailure[],
): PermanentFailure | undefined {
  return failures.find((failure) => {
    if (failure.type !== type) return false;
    if (query === undefined) return failure.id !== undefined && failure.id === id;
    if (failure.offset === undefined) return false;
    const end = query.limit === null ? Number.POSITIVE_INFINITY : query.offset + query.limit;
    return failure.offset >= query.offset && failure.offset < end;
  });
}
