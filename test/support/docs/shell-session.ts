// A bash that executes one command after the other, as a reader of the docs does in a terminal.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ShellResult {
  readonly code: number;
  /** Both streams, in the order in which they were printed. */
  readonly output: string;
}

const endMark = '---end-of-command---';

export class ShellSession {
  readonly #folder: string;
  readonly #bash: ChildProcessByStdio<Writable, Readable, null>;
  #printed = '';
  #servers = 0;
  readonly #running = new Map<string, string>();

  constructor(folder: string, env: Readonly<Record<string, string>>) {
    this.#folder = folder;
    // A group of its own, so that everything a page started can be ended.
    this.#bash = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#bash.stdout.setEncoding('utf8').on('data', (text: string) => (this.#printed += text));
    this.#bash.stdin.write('exec 2>&1\n');
  }

  /** The next command can use what this one exported, and `$?`. */
  async run(command: string): Promise<ShellResult> {
    this.#printed = '';
    this.#bash.stdin.write(
      `{ ${command}\n} </dev/null\nlast=$?; printf '\\n%s %s\\n' ${endMark} $last; (exit $last)\n`,
    );
    const end = new RegExp(String.raw`\n${endMark} (\d+)\n`);
    for (;;) {
      const found = end.exec(this.#printed);
      if (found) return { code: Number(found[1]), output: this.#printed.slice(0, found.index) };
      if (this.#bash.exitCode !== null) return { code: this.#bash.exitCode, output: this.#printed };
      await sleep(10);
    }
  }

  /**
   * Starts a command that runs until it is stopped, and waits until it is ready, or has ended. One of the same `kind` that
   * is running is stopped first. Its process id is in `$server`.
   */
  async start(kind: string, command: string, isReady: (output: string) => boolean): Promise<ShellResult> {
    const file = join(this.#folder, `.server-${++this.#servers}.txt`);
    const earlier = this.#running.get(kind);
    if (earlier !== undefined) await this.run(`kill -INT ${earlier}; wait ${earlier}`);
    await this.run(`${withoutComment(command)} >'${file}' 2>&1 & server=$!`);
    this.#running.set(kind, (await this.run('echo $server')).output.trim());
    for (;;) {
      const output = await readFile(file, 'utf8').catch(() => '');
      if (isReady(output)) return { code: 0, output };
      if ((await this.run('kill -0 $server')).code !== 0) return { code: 1, output };
      await sleep(100);
    }
  }

  /** Ends the shell and everything it started. */
  async close(): Promise<void> {
    if (this.#bash.exitCode !== null || this.#bash.pid === undefined) return;
    const ended = once(this.#bash, 'exit');
    process.kill(-this.#bash.pid, 'SIGKILL');
    await ended;
  }
}

const withoutComment = (command: string): string => command.replace(/\s+#.*$/, '');
