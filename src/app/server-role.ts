// What a process is a server for.

/**
 * `serve` and `demo` were asked for and stay; `command` is a command that became a server because none was running,
 * and makes room for one that was asked for; `worker` runs jobs only and holds no data folder.
 */
export type ServerRole = 'serve' | 'demo' | 'command' | 'worker';
