// Lua scripts, loaded once per server and run by their hash.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface RedisScript {
  /** The file's name, for messages. */
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

/** Reads a `.lua` file next to a module: `redisScript(new URL('./x.lua', import.meta.url))`. */
export function redisScript(file: URL): RedisScript {
  const source = readFileSync(file, 'utf8');
  const name = file.pathname.slice(file.pathname.lastIndexOf('/') + 1);
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** The two commands a runner needs. */
export interface ScriptCommands {
  load(source: string): Promise<unknown>;
  evalsha(sha: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
}

/** A flush between loading and running can happen once, not forever. */
const maxLoads = 3;

/** Loads each script once, however many calls arrive together, and again after the server lost it. */
export class ScriptRunner {
  readonly #commands: ScriptCommands;
  readonly #loaded = new Map<string, Promise<unknown>>();

  constructor(commands: ScriptCommands) {
    this.#commands = commands;
  }

  async run(
    script: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    for (let loads = 1; ; loads++) {
      const loading = this.#load(script);
      await loading;
      try {
        return await this.#commands.evalsha(script.sha, keys, args);
      } catch (error) {
        if (!isMissing(error) || loads === maxLoads) throw error;
        // If many calls find it missing, the first resets it; the others see the new load.
        if (this.#loaded.get(script.sha) === loading) this.#loaded.delete(script.sha);
      }
    }
  }

  #load(script: RedisScript): Promise<unknown> {
    const known = this.#loaded.get(script.sha);
    if (known) return known;
    const loading = this.#commands.load(script.source);
    this.#loaded.set(script.sha, loading);
    loading.catch(() => {
      if (this.#loaded.get(script.sha) === loading) this.#loaded.delete(script.sha);
    });
    return loading;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
