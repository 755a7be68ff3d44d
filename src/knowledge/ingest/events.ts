// Events as callers look at them.
import { CoreError } from '../../core/index.ts';
import type { EventDesk } from '../desk-ports.ts';
import type { EventStore } from '../ports.ts';

export function eventDesk(store: Pick<EventStore, 'list' | 'get'>): EventDesk {
  return {
    list: async (filter) => {
      if (filter.from && filter.to && filter.from > filter.to)
        throw new CoreError(
          'INPUT_INVALID',
          'The time to list events from is after the time to list them to.',
        );
      return store.list(filter);
    },
    get: async ({ spaceId }, eventId) => {
      const found = await store.get(spaceId, eventId);
      if (found) return found;
      throw new CoreError(
        'NOT_FOUND',
        `There is no event ${JSON.stringify(eventId.slice(0, 60))} in this space.`,
      );
    },
  };
}
