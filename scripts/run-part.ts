// Runs one part of a larger command quietly: its output is captured and its duration measured.
import { spawn, type ChildProcess } from 'node:child_process';
import { delimiter, resolve } from 'node:path';
import { ended } from './services/run-with-services.ts';

export interface PartResult {
  readonly name: string;
  readonly isGood: boolean;
  readonly seconds: number;
  readonly output: string;
}

/** The environment in which the programs of node_modules are found first, the pinned Node among them. */
export function partEnvironment(): NodeJS.ProcessEnv {
  const programs = resolve(import.meta.dirname, '../node_modules/.bin');
  return { ...process.env, PATH: `${programs}${delimiter}${process.env['PATH'] ?? ''}` };
}

/** Never rejects: a program that cannot be started is a part that failed. */
export async function runPart(
  name: string,
  [program = '', ...args]: readonly string[],
  onStart: (child: ChildProcess) => void = () => undefined,
): Promise<PartResult> {
  const start = performance.now();
  const child = spawn(program, args, { env: partEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
  onStart(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await ended(child).catch((error: Error) => {
    output += error.message;
    return 1;
  });
  return { name, isGood: code === 0, seconds: (performance.now() - start) / 1000, output };
}

/** `lint          ok      0.4 s` */
export function partLine({ name, isGood, seconds }: Omit<PartResult, 'output'>): string {
  return `${name.padEnd(12)}${isGood ? 'ok' : 'FAILED'}`.padEnd(20) + `${seconds.toFixed(1)} s`;
}
