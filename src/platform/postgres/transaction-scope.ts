// Knows whether the running code is inside an open transaction of a database, through any number of awaits.
import { AsyncLocalStorage } from 'node:async_hooks';
import { CoreError } from '../../core/errors.ts';

interface Scope {
  isOpen: boolean;
}

export class TransactionScope {
  readonly #storage = new AsyncLocalStorage<Scope>();

  /** Runs `work` inside a new scope. Work it leaves behind inherits the scope, but is free once `close` was called. */
  enter<T>(work: () => Promise<T>): { readonly result: Promise<T>; close(): void } {
    const scope: Scope = { isOpen: true };
    return {
      result: this.#storage.run(scope, work),
      close: () => {
        scope.isOpen = false;
      },
    };
  }

  /** Fails inside an open transaction: there, the root database would wait for the very session we hold. */
  assertOutside(): void {
    if (!this.#storage.getStore()?.isOpen) return;
    throw new CoreError(
      'STATE_NESTED_QUERY',
      'A query on the database was made inside an open transaction of the same database, which could wait for itself for ever. Use the transaction that was passed in.',
    );
  }
}
