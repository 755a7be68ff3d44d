// Spaces as callers handle them: each owner sees its own.
import { CoreError } from '../../core/index.ts';
import type { SpaceDesk } from '../desk-ports.ts';
import type { Space, SpaceStore } from '../ports.ts';
import { defaultSpaceName } from '../ports.ts';
import { spaceKey, spaceName } from './space-name.ts';

export interface SpacesParts {
  readonly store: SpaceStore;
  /** A graph elsewhere forgets what was in it. */
  readonly onRemoved: (space: Space) => Promise<void>;
}

export class Spaces implements SpaceDesk {
  readonly #store: SpaceStore;
  readonly #onRemoved: SpacesParts['onRemoved'];

  constructor({ store, onRemoved }: SpacesParts) {
    this.#store = store;
    this.#onRemoved = onRemoved;
  }

  async of(organizationId: string | null, name: string = defaultSpaceName): Promise<Space> {
    const found = await this.#store.get(organizationId, name);
    if (found) return found;
    if (spaceKey(name) === defaultSpaceName) return this.#store.ensure(organizationId, defaultSpaceName);
    throw new CoreError(
      'NOT_FOUND',
      `There is no space ${JSON.stringify(name.slice(0, 100).toWellFormed())} here. "headworks spaces list" shows what there is; "headworks spaces add NAME" makes one.`,
    );
  }

  list(organizationId: string | null | undefined): Promise<readonly Space[]> {
    return this.#store.list(organizationId);
  }

  async add(organizationId: string | null, name: string, language?: string): Promise<Space> {
    if (await this.#store.get(organizationId, spaceName(name)))
      throw new CoreError('CONFLICT', `There is a space ${name} already. Take another name.`);
    return this.#store.ensure(organizationId, name, language);
  }

  async remove(space: Space): Promise<void> {
    if (!(await this.#store.remove(space.spaceId)))
      throw new CoreError('NOT_FOUND', `The space ${space.name} was removed already.`);
    await this.#onRemoved(space);
  }
}
