// What the house as a whole tells: its start and stop, and its stores coming and going.
import { event } from '../core/index.ts';

export const appEvents = {
  'server:started': event<{ role: string; url: string; startedInMs: number }>({
    level: 'info',
    message: 'server started',
  }),
  'server:stopping': event<{ reason: string }>({ level: 'info', message: 'server is stopping' }),
  'server:stopped': event<{ reason: string }>({ level: 'info', message: 'server has stopped' }),
  'dependency:changed': event<{ dependency: string; state: string }>({
    level: 'warn',
    message: 'a dependency went away or came back',
    counter: {
      name: 'headworks_dependency_changes_total',
      help: 'Times a store went away or came back.',
      labels: ['dependency', 'state'],
      knownValues: ['state store', 'redis'].flatMap((name) => [
        [name, 'up'],
        [name, 'down'],
      ]),
    },
  }),
};

export type AppEvents = typeof appEvents;
