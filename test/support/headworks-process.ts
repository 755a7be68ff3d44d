// The real command line in separate processes, with their own data folder.
import type { ChildProcessByStdio } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Readable } from 'node:stream';
import { onTestFinished } from 'vitest';

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

export interface HeadworksProcess {
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the exit code (or the signal's name) once everything it printed was read. */
  readonly ended: Promise<number | string>;
  /** Waits until it has printed something that matches. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** The environment of every process, without settings of the machine. The compile cache only saves time. */
const basicVariables = ['PATH', 'HOME', 'NODE_COMPILE_CACHE'];

/** Only these variables reach it, besides the basic ones. */
export function startHeadworks(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
): HeadworksProcess {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(basicVariables.map((name) => [name, process.env[name]])), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  onTestFinished(() => void child.kill('SIGKILL'));
  const printed = async (pattern: RegExp) => {
    for (;;) {
      const found = pattern.exec(stdout + stderr);
      if (found) return found;
      if (child.exitCode !== null)
        throw new Error(`Ended (${child.exitCode}) without ${pattern}: ${stdout}${stderr}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  return { child, stdout: () => stdout, stderr: () => stderr, ended, printed };
}

export async function runHeadworks(
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | string; readonly stdout: string; readonly stderr: string }> {
  const run = startHeadworks(args, folder, env);
  const code = await run.ended;
  return { code, stdout: run.stdout(), stderr: run.stderr() };
}
