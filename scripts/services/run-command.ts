// Runs one program to its end; the error of a failure contains its output.
import { execFile } from 'node:child_process';
import { messageOf } from '../../src/core/errors.ts';
import type { ServerUser } from './server-user.ts';

export interface CommandOptions {
  readonly cwd?: string;
  readonly environment?: NodeJS.ProcessEnv;
  readonly user?: ServerUser | undefined;
  readonly timeoutMs?: number;
}

/** Prints a line about something that takes long. */
export const log = (line: string): boolean => process.stderr.write(`services: ${line}\n`);

/** What the program printed. Rejects with its name, exit code and last lines of output when it fails. */
export async function runCommand(
  program: string,
  args: readonly string[],
  { cwd, environment, user, timeoutMs = 600_000 }: CommandOptions = {},
): Promise<string> {
  return await new Promise((resolve, reject) => {
    execFile(
      program,
      args,
      {
        ...(cwd === undefined ? {} : { cwd }),
        ...(environment === undefined ? {} : { env: environment }),
        ...user,
        timeout: timeoutMs,
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const output = lastLines(`${stdout}\n${stderr}`, 12);
        const why = output || messageOf(error);
        reject(new Error(`${program} failed (${error.code ?? error.signal ?? 'no code'}): ${why}`));
      },
    );
  });
}

/** The last non-empty lines of a text. */
export function lastLines(text: string, count: number): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-count).join('\n');
}
